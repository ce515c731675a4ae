import { once } from "node:events";
import WebSocket from "ws";

/** An attachment without a page: the wire of `GET /v1/sessions/{id}/attach`, byte for byte. */
export class Attachment {
  /** Everything that the program has printed since the attach, snapshot included. */
  output = "";
  /** @type {any} */
  hello = null;
  /** @type {{ columns: number, rows: number } | null} */
  size = null;
  /** What the daemon said last of who holds the size. @type {any} */
  claim = null;
  /** @type {(() => void)[]} */
  #waiting = [];
  #decoder = new TextDecoder();

  /** @param {WebSocket} socket */
  constructor(socket) {
    this.socket = socket;
    socket.on("message", (/** @type {Buffer} */ data, /** @type {boolean} */ isBinary) => isBinary && this.#take(data));
    this.closed = once(socket, "close").then(([code]) => /** @type {number} */ (code));
  }

  /**
   * As the owner, on the Unix socket.
   * @param {import("./daemon.mjs").Daemon} daemon
   * @param {string} session its id
   * @param {string} query
   */
  static async ofOwner(daemon, session, query) {
    const socket = new WebSocket(`ws+unix:${daemon.ready.socket}:/v1/sessions/${session}/attach?${query}`);
    const attachment = new Attachment(socket);
    await attachment.until(() => attachment.hello !== null);
    return attachment;
  }

  /**
   * As a browser's device does it, with its access token as the first frame.
   * @param {string} origin
   * @param {string} token
   * @param {string} session its id
   * @param {string} query
   */
  static async ofDevice(origin, token, session, query) {
    const url = `${origin.replace("https:", "wss:")}/v1/sessions/${session}/attach?${query}`;
    const socket = new WebSocket(url, { origin, rejectUnauthorized: false });
    await once(socket, "open");
    socket.send(token);
    return new Attachment(socket);
  }

  /** Sends input; sequences count from 1. @param {number} sequence @param {string} text */
  type(sequence, text) {
    const head = Buffer.alloc(9);
    head.writeUInt8(0x10, 0);
    head.writeBigUInt64BE(BigInt(sequence), 1);
    this.socket.send(Buffer.concat([head, Buffer.from(text)]));
  }

  /** Says which size could be shown. @param {number} columns @param {number} rows */
  offerSize(columns, rows) {
    const message = Buffer.alloc(5);
    message.writeUInt8(0x11, 0);
    message.writeUInt16BE(columns, 1);
    message.writeUInt16BE(rows, 3);
    this.socket.send(message);
  }

  /** "Fit to this screen". */
  takeClaim() {
    this.socket.send(Uint8Array.of(0x13));
  }

  /** Resolves once the daemon has read everything sent so far: it answers a ping after what came before it. */
  async settled() {
    this.socket.ping();
    await once(this.socket, "pong");
  }

  /** Waits until something holds after a message. @param {() => boolean} holds */
  async until(holds) {
    while (!holds()) {
      const closed = await Promise.race([
        new Promise((resolve) => this.#waiting.push(() => resolve(false))),
        this.closed.then(() => true),
      ]);
      if (closed && !holds()) throw new Error(`the attachment closed; it printed: ${this.output.slice(-500)}`);
    }
  }

  close() {
    this.socket.terminate();
  }

  /** @param {Buffer} message */
  #take(message) {
    const kind = message.readUInt8(0);
    if (kind === 0x00) this.hello = JSON.parse(message.toString("utf8", 1));
    if (kind === 0x01) this.#draw(message.readBigUInt64BE(1), message.subarray(9));
    if (kind === 0x02) this.output += this.#decoder.decode(message.subarray(13), { stream: true });
    if (kind === 0x02 || kind === 0x03) this.size = { columns: message.readUInt16BE(9), rows: message.readUInt16BE(11) };
    if (kind === 0x03) this.#hold(JSON.parse(message.toString("utf8", 13)));
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** That a claim was taken is told once, and holds for as long as who took it has it. @param {any} claim */
  #hold(claim) {
    const stays = this.claim?.taken_from && !claim.holder && claim.by === this.claim.by;
    this.claim = { ...claim, taken_from: claim.taken_from || Boolean(stays) };
  }

  /** Draws nothing, but says so as one who does. @param {bigint} offset @param {Buffer} bytes */
  #draw(offset, bytes) {
    this.output += this.#decoder.decode(bytes, { stream: true });
    const acknowledged = Buffer.alloc(9);
    acknowledged.writeUInt8(0x12, 0);
    acknowledged.writeBigUInt64BE(offset + BigInt(bytes.length), 1);
    this.socket.send(acknowledged);
  }
}
