import { once } from "node:events";
import { connect, createServer } from "node:net";

/**
 * A port that leads to the daemon, as `ssh -L` makes one: it stays the same when the daemon comes back elsewhere, and
 * it can be cut.
 */
export class Tunnel {
  #server = createServer((socket) => this.#accept(socket));
  /** @type {Set<import("node:net").Socket>} */
  #sockets = new Set();
  #isCut = false;
  #toRefuse = 0;
  #port = 0;

  /** @param {() => number} target the port that it leads to */
  constructor(target) {
    this.target = target;
  }

  async open() {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("a TCP listener has a port");
    this.#port = address.port;
  }

  /** The port that it is reached at. */
  get port() {
    return this.#port;
  }

  /** Resets every connection, and each new one, until it is mended. */
  cut() {
    this.#isCut = true;
    this.snap();
  }

  /** Resets so many new connections. @param {number} count */
  refuseNext(count) {
    this.#toRefuse = count;
  }

  /** Resets every connection once; new ones are taken. */
  snap() {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  mend() {
    this.#isCut = false;
  }

  close() {
    this.cut();
    this.#server.close();
  }

  /** @param {import("node:net").Socket} near */
  #accept(near) {
    if (this.#isCut || this.#toRefuse > 0) {
      this.#toRefuse = Math.max(0, this.#toRefuse - 1);
      near.resetAndDestroy();
      return;
    }
    const far = connect(this.target(), "127.0.0.1");
    this.#join(near, far);
    this.#join(far, near);
  }

  /**
   * Passes on what one end sends, and its end.
   * @param {import("node:net").Socket} from
   * @param {import("node:net").Socket} to
   */
  #join(from, to) {
    this.#sockets.add(from);
    from.setNoDelay(true);
    from.pipe(to);
    // Either end may be cut by a test, or by the daemon that it kills.
    from.on("error", () => to.destroy());
    from.on("close", () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}
