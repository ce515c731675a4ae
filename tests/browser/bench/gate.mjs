import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";

/** Where the programs of `tests/benches/src/program.rs` wait until they are let go; its other side is `gate.rs` there. */
export class Gate {
  #server = createServer();
  /** @type {import("node:net").Socket[]} */
  #arrived = [];

  /** @param {string} folder */
  constructor(folder) {
    this.path = join(folder, "gate");
  }

  async open() {
    this.#server.on("connection", (socket) => {
      socket.on("error", () => undefined);
      this.#arrived.push(socket);
      this.#server.emit("arrived");
    });
    this.#server.listen(this.path);
    await once(this.#server, "listening");
  }

  /** Waits for the next program. */
  async arrival() {
    while (this.#arrived.length === 0) await once(this.#server, "arrived");
    return /** @type {import("node:net").Socket} */ (this.#arrived.shift());
  }

  close() {
    for (const socket of this.#arrived) socket.destroy();
    this.#server.close();
  }
}

/**
 * Lets a program go and waits until it says that its terminal has taken everything: the time of day then.
 * @param {import("node:net").Socket} program
 */
export async function letGo(program) {
  program.write(Uint8Array.of(0));
  await once(program, "data");
  const ended = now();
  program.destroy();
  return ended;
}

/** The time of day, in milliseconds and parts of them, as a page of this machine reads it. */
export function now() {
  return performance.timeOrigin + performance.now();
}
