import { signal } from "@preact/signals";
import { CLOSE_GONE, CLOSE_NOT_PERMITTED, CLOSE_TOO_MANY, decode, encodeAck, encodeInput } from "../api/attach";
import { utf8 } from "../api/encoding";
import type { Link, LinkEnd } from "../connection/connection";
import { linkEndOf } from "../connection/refusals";
import { authenticate, NoAccess, refresh } from "../keys/access";
import type { Credential } from "../keys/store";
import type { Exit, Hello } from "../protocol";
import type { Display } from "./display";

/** A session followed over WebSockets, one after the other; what is drawn outlives each of them. */
export class Attachment {
  /** What the daemon said at the last attach; null before the first. */
  readonly hello = signal<Hello | null>(null);
  /** How the program ended; null while it runs. */
  readonly exit = signal<Exit | null>(null);
  private socket: WebSocket | null = null;
  private sequence = 0;

  constructor(
    private readonly session: string,
    private readonly display: Display,
  ) {}

  /** Whether what is typed now reaches the program. */
  get takesInput(): boolean {
    return this.socket?.readyState === WebSocket.OPEN && this.hello.peek()?.mode === "write" && !this.exit.peek();
  }

  /** Sends typed text; false where there is no open attachment that may write, and then nothing is kept. */
  type(text: string): boolean {
    return this.typeBytes(utf8(text));
  }

  /** Sends typed bytes, as `type` does. */
  typeBytes(bytes: Uint8Array): boolean {
    if (!this.takesInput || !this.socket) return false;
    for (let at = 0; at < bytes.length; at += INPUT_PART) {
      this.sequence += 1;
      this.socket.send(encodeInput(this.sequence, bytes.subarray(at, at + INPUT_PART)));
    }
    return true;
  }

  /** Says that the screen is drawn up to an offset. */
  acknowledge(offset: number): void {
    // A socket that is closing has nobody who waits for it.
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(encodeAck(offset));
  }

  /** One attachment, from the daemon's first word to the cut. */
  readonly link: Link = async (opened, ended) => {
    try {
      const credential = await authenticate(ended);
      if (this.hello.peek() && this.hello.peek()?.instance !== credential.instance) this.display.forget();
      const code = await this.follow(credential, opened, ended);
      return ended.aborted ? { kind: "lost" } : await this.meaning(code, credential, ended);
    } catch (error) {
      if (error instanceof NoAccess) return { kind: "ended", reason: error.reason };
      return ended.aborted ? { kind: "lost" } : linkEndOf(error);
    }
  };

  /** Resolves with the close code. */
  private follow(credential: Credential, opened: () => void, ended: AbortSignal): Promise<number> {
    const position = this.display.position;
    const mode = credential.role === "operator" ? "write" : "view";
    const path = `/v1/sessions/${this.session}/attach?mode=${mode}&from=${position ?? "screen"}`;
    const socket = new WebSocket(`wss://${location.host}${path}`);
    socket.binaryType = "arraybuffer";
    ended.addEventListener("abort", () => socket.close());
    return new Promise((resolve) => {
      socket.onopen = () => socket.send(credential.token);
      socket.onmessage = ({ data }) => {
        if (ended.aborted || !(data instanceof ArrayBuffer)) return;
        if (this.take(data, socket, position)) opened();
        else if (this.display.isBroken) socket.close();
      };
      socket.onclose = ({ code }) => {
        if (this.socket === socket) this.socket = null;
        resolve(code);
      };
    });
  }

  /** Takes a message; true once what is shown is true. */
  private take(data: ArrayBuffer, socket: WebSocket, position: number | null): boolean {
    const message = decode(data);
    switch (message.kind) {
      case "hello":
        this.sequence = 0;
        this.socket = socket;
        this.hello.value = message.hello;
        return message.hello.offset === position;
      case "exit":
        this.exit.value = message.exit;
        return true;
      case "output":
        return this.display.output(message.offset, message.bytes);
      case "snapshot":
        this.display.snapshot(message.ground, message.size, message.bytes);
        return true;
      case "size":
        this.display.resize(message.size);
        return false;
      case "unknown":
        return false;
    }
  }

  /** A close code is a hint; whether this device is still trusted, the daemon says for certain when asked. */
  private async meaning(code: number, credential: Credential, ended: AbortSignal): Promise<LinkEnd> {
    if (code === CLOSE_GONE) return { kind: "ended", reason: "gone" };
    if (this.exit.peek() && code === NORMAL_CLOSURE) return { kind: "ended", reason: "finished" };
    const now = await refresh(credential, ended);
    if (code === CLOSE_NOT_PERMITTED && now.role === credential.role) return { kind: "ended", reason: "not_permitted" };
    return code === CLOSE_TOO_MANY ? { kind: "lost", retryAfter: TOO_MANY_PAUSE } : { kind: "lost" };
  }
}

/** Bytes of one input message: a large paste goes in parts, since the daemon takes no message above 1 MiB. */
const INPUT_PART = 32 * 1024;
/** RFC 6455, section 7.4.1. */
const NORMAL_CLOSURE = 1000;
/** Seconds. */
const TOO_MANY_PAUSE = 5;
