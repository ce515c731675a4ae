import { signal } from "@preact/signals";
import {
  CLOSE_GONE,
  CLOSE_NOT_PERMITTED,
  CLOSE_RESTARTING,
  CLOSE_TOO_MANY,
  decode,
  encodeAck,
  encodeClaim,
  encodeInput,
  encodePing,
  encodeSize,
  encodeVisibility,
  encodeYield,
  LOST,
  type ServerMessage,
  UNWRITTEN,
} from "../api/attach";
import { utf8, type Bytes } from "../api/encoding";
import type { Link, LinkEnd, Probe } from "../connection/connection";
import { Meter } from "../connection/meter";
import { asDevice, endOf, hasIdentified, type Authority } from "../keys/access";
import { assertHere, forgetDaemon, isHere } from "../keys/daemon";
import { bearerOf } from "../keys/proof";
import type { Credential } from "../keys/store";
import type { ClaimChange, Exit, Hello, Presence, Size } from "../protocol";
import type { Display } from "./display";
import { keysIn, type InputQueue } from "./input-queue";

/** A session followed over WebSockets, one after the other; what is drawn and what is typed outlive each of them. */
export class Attachment {
  /** What the daemon said at the last attach; null before the first. */
  readonly hello = signal<Hello | null>(null);
  /** Whether anything was drawn. */
  readonly drawn = signal(false);
  /** How the program ended; null while it runs. */
  readonly exit = signal<Exit | null>(null);
  /** Who is there; null before the daemon has said so. */
  readonly presence = signal<Presence | null>(null);
  /** Who holds the session's size; null before the daemon has said so. */
  readonly claim = signal<ClaimChange | null>(null);
  /** Keys that may not have reached the program and are not sent again; null once a person has seen that. */
  readonly inDoubt = signal<number | null>(null);
  /** Times a round trip, and finds out whether anybody is still there. */
  readonly ping: Probe = (ended) => this.pingOnce(ended);
  private socket: WebSocket | null = null;
  private asked: Size | null = null;
  private looks = { visible: true, atLiveEdge: true };
  private pings = 0;
  /** Sockets in a row that closed before they were open. */
  private unopened = 0;
  /** Why the daemon closed last. */
  private closedFor = "";
  /** Pings on their way: each hears of every message, and of the pong's number where it is one. */
  private readonly pinging = new Set<(pong: number | null) => void>();

  /** What the connection's figures are made of. */
  readonly meter = new Meter();

  constructor(
    private readonly session: string,
    private readonly display: Display,
    private readonly input: InputQueue,
    private readonly authority: Authority = asDevice,
  ) {}

  /** Whether what is typed reaches the program, now or after a reconnect. */
  get takesInput(): boolean {
    return this.hello.peek()?.mode === "write" && !this.exit.peek();
  }

  /** Types text; false where this attachment may not, or too much waits already. */
  type(text: string, keys = keysIn(text)): boolean {
    return this.typeBytes(utf8(text), keys);
  }

  /** Types bytes, as `type` does. */
  typeBytes(bytes: Uint8Array, keys: number): boolean {
    return this.takesInput && this.input.add(bytes, keys);
  }

  /** The size that a person wants the session to have here; null where nobody does, or somebody else took the claim. */
  get wanted(): Size | null {
    return this.asked;
  }

  /** Says that the screen is drawn up to an offset. */
  acknowledge(offset: number): void {
    this.meter.drawn(offset, performance.now());
    this.send(encodeAck(offset));
  }

  /** Says what the person sees, where that has changed. */
  look(visible: boolean, atLiveEdge: boolean): void {
    if (this.looks.visible === visible && this.looks.atLiveEdge === atLiveEdge) return;
    this.looks = { visible, atLiveEdge };
    this.send(encodeVisibility(visible, atLiveEdge));
  }

  /** Takes the claim, with what this screen shows. */
  fit(size: Size): void {
    this.offer(size);
    this.send(encodeClaim());
  }

  /** Says what this screen shows now, where a person wanted it to be the session's size. */
  offer(size: Size): void {
    this.asked = size;
    this.send(encodeSize(size));
  }

  /** Gives the claim back. */
  yield(): void {
    this.asked = null;
    this.send(encodeYield());
  }

  /** One attachment, from the daemon's first word to the cut. */
  readonly link: Link = async (opened, ended) => {
    let credential: Credential | null = null;
    try {
      credential = await this.authority.authenticate(ended);
      if (this.hello.peek() && this.hello.peek()?.instance !== credential.instance) this.display.forget();
      const token = await bearerOf(credential).current();
      if (ended.aborted) return { kind: "lost" };
      const code = await this.follow(credential, token, opened, ended);
      return ended.aborted ? { kind: "lost" } : await this.meaning(code, credential, ended);
    } catch (error) {
      return ended.aborted ? { kind: "lost" } : endOf(error, credential, this.authority);
    }
  };

  /** Resolves with the close code; `null` where the daemon said something that no one can read. */
  private follow(credential: Credential, token: string, opened: () => void, ended: AbortSignal): Promise<number | null> {
    const position = this.display.begin();
    const socket = new WebSocket(`wss://${location.host}${this.path(credential, position)}`);
    socket.binaryType = "arraybuffer";
    return new Promise((resolve) => {
      let hasLeft = false;
      const leave = (code: number | null): void => {
        hasLeft = true;
        if (this.socket === socket) this.detach();
        resolve(code);
      };
      // A dead peer never answers a close: nothing waits for that.
      ended.addEventListener("abort", () => {
        socket.close();
        leave(null);
      });
      socket.onopen = () => {
        this.unopened = 0;
        if (isHere(credential.instance)) return socket.send(token);
        // It took long to open: who is there now?
        void assertHere(credential.instance).then(
          () => !hasLeft && socket.send(token),
          () => socket.close(),
        );
      };
      socket.onmessage = ({ data }) => {
        // What is still on its way when this one is left belongs to no screen any more.
        if (hasLeft || ended.aborted || !(data instanceof ArrayBuffer)) return;
        const message = readable(data);
        if (message && this.take(message, socket, position)) opened();
        if (message && !this.display.isBroken) return;
        leave(message ? ABNORMAL_CLOSURE : null);
        socket.close();
      };
      socket.onclose = ({ code, reason }) => {
        this.closedFor = reason;
        leave(code);
      };
    });
  }

  private path({ role }: Credential, position: number | null): string {
    const mode = role === "operator" ? "write" : "view";
    return `/v1/sessions/${this.session}/attach?mode=${mode}&from=${position ?? "screen"}&client=${this.input.client}`;
  }

  /** Takes a message; true once what is shown is true. */
  private take(message: ServerMessage, socket: WebSocket, position: number | null): boolean {
    for (const hear of this.pinging) hear(message.kind === "pong" ? message.number : null);
    switch (message.kind) {
      case "hello":
        this.attached(message.hello, socket);
        return message.hello.offset === position;
      case "exit":
        this.exit.value = message.exit;
        this.input.giveUp();
        return true;
      case "output":
        this.drawn.value = true;
        this.meter.arrived(message.offset + message.bytes.length, performance.now());
        return this.display.output(message.offset, message.bytes);
      case "snapshot":
        if (message.bytes.length > 0) this.drawn.value = true;
        this.meter.arrived(message.ground, performance.now());
        this.display.snapshot(message.ground, message.size, message.bytes);
        return true;
      case "size":
        this.display.resize(message.size);
        this.claimed(message.claim);
        return false;
      case "input_applied":
        this.input.confirm(message.sequence);
        return false;
      case "presence":
        this.presence.value = message.presence;
        return false;
      case "pong":
      case "unknown":
        return false;
    }
  }

  private attached(hello: Hello, socket: WebSocket): void {
    this.socket = socket;
    this.hello.value = hello;
    this.claim.value = null;
    this.send(encodeVisibility(this.looks.visible, this.looks.atLiveEdge));
    // The daemon knows this client's wish, and grants it again unless somebody else's is newer.
    if (this.asked) this.send(encodeSize(this.asked));
    const lost =
      hello.mode === "write"
        ? this.input.resume(hello.input_applied, (sequence, bytes) => this.send(encodeInput(sequence, bytes)))
        : this.input.giveUp();
    if (lost > 0) this.inDoubt.value = lost;
    if (!hasIdentified(hello.life)) this.askWho();
  }

  /** Another run of the daemon may serve another build of the app, and says so only when it is asked. */
  private askWho(): void {
    const who = this.authority.current();
    if (who && this.authority === asDevice) void asDevice.refresh(who, new AbortController().signal).catch(() => undefined);
  }

  private claimed(claim: ClaimChange): void {
    const before = this.claim.peek();
    const takenMeanwhile = before === null && this.asked !== null && !claim.holder && claim.by !== null;
    if (this.asked && !claim.holder && (claim.taken_from || takenMeanwhile)) this.asked = null;
    // Told once; it stays on the page, until somebody dismisses it, while its holder changes the size again.
    const stays = before !== null && before.taken_from && !claim.holder && claim.by === before.by;
    this.claim.value = { ...claim, taken_from: claim.taken_from || takenMeanwhile || stays };
  }

  private detach(): void {
    this.socket = null;
    this.input.pause();
  }

  private send(bytes: Bytes): void {
    // A socket that is closing has nobody who waits for it.
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(bytes);
  }

  /** A ping that nothing follows for too long means that the other end is gone, whatever the system believes. */
  private pingOnce(ended: AbortSignal): Promise<number | LinkEnd> {
    const number = (this.pings += 1);
    const begun = performance.now();
    return new Promise((resolve) => {
      const finish = (result: number | LinkEnd): void => {
        clearTimeout(timer);
        this.pinging.delete(hear);
        ended.removeEventListener("abort", lost);
        resolve(result);
      };
      const lost = (): void => finish({ kind: "lost" });
      const hear = (pong: number | null): void => {
        if (pong === number) return finish(Math.round(performance.now() - begun));
        // On a slow link the pong stands behind output; that comes, so somebody is there.
        clearTimeout(timer);
        timer = setTimeout(lost, SILENCE);
      };
      let timer = setTimeout(lost, SILENCE);
      ended.addEventListener("abort", lost);
      this.pinging.add(hear);
      this.send(encodePing(number));
    });
  }

  /** A close code is a hint; whether this device is still trusted, the daemon says for certain when asked. */
  private async meaning(code: number | null, credential: Credential, ended: AbortSignal): Promise<LinkEnd> {
    if (code === null) return { kind: "ended", reason: "unreadable" };
    if (code === CLOSE_GONE) return { kind: "ended", reason: this.closedFor === LOST ? "lost" : "gone" };
    if (code === CLOSE_RESTARTING) return { kind: "lost", why: "restarting" };
    if (code === CLOSE_NOT_PERMITTED && this.closedFor === UNWRITTEN) return { kind: "lost", retryAfter: PAUSE, why: "unwritten" };
    // The daemon has said all there is, with or without how the program ended.
    if (code === NORMAL_CLOSURE) return { kind: "ended", reason: "finished" };
    forgetDaemon();
    this.unopened += 1;
    const now = await this.authority.refresh(credential, ended);
    if (code === CLOSE_NOT_PERMITTED && now.role === credential.role && now.token === credential.token) return { kind: "ended", reason: "not_permitted" };
    if (code === CLOSE_TOO_MANY) return { kind: "lost", retryAfter: PAUSE, why: "too_many" };
    // The daemon answers whoever asks by `fetch`, every time, and no socket has come to be.
    return this.unopened >= UNOPENED ? { kind: "lost", why: "no_socket" } : { kind: "lost" };
  }
}

/** A message; null where it is cut, or no message at all. */
function readable(data: ArrayBuffer): ServerMessage | null {
  try {
    return decode(data);
  } catch {
    return null;
  }
}

/** RFC 6455, section 7.4.1. */
const NORMAL_CLOSURE = 1000;
const ABNORMAL_CLOSURE = 1006;
/** Sockets that may fail to open while the daemon answers: a network that comes back makes one or two such. */
const UNOPENED = 3;
/** Seconds until what the daemon has too many of, or no room for, may have changed. */
const PAUSE = 5;
/** Milliseconds without any message after a ping; a snapshot on the slowest link is one message and takes some. */
const SILENCE = 12_000;
