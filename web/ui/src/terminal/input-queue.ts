import { signal } from "@preact/signals";
import { fromBase64Url, toBase64Url, type Bytes } from "../api/encoding";

/** Hands numbered input to the daemon. */
export type Send = (sequence: number, bytes: Uint8Array) => void;

/** Input that outlives its page; text only, as storage takes it. */
export interface KeptInput {
  client: string;
  sequence: number;
  parts: { sequence: number; bytes: string; keys: number; sent: boolean }[];
}

/**
 * Input on its way to a program: numbered over all attachments of one client id, kept until the program is known to
 * have it, and sent again after a cut where it did not arrive. So each key arrives once.
 */
export class InputQueue {
  /** Names this queue to the daemon, which remembers by it what the program got. */
  readonly client: string;
  /** Keys that are typed and not known to have arrived. */
  readonly unconfirmed = signal(0);
  private sequence: number;
  private parts: Part[];
  private send: Send | null = null;

  /** @param kept what a former page of this tab left behind */
  constructor(kept: KeptInput | null = null) {
    this.client = kept?.client ?? randomId();
    this.sequence = kept?.sequence ?? 0;
    this.parts = (kept?.parts ?? []).map((part) => ({ ...part, bytes: fromBase64Url(part.bytes) ?? new Uint8Array() }));
    this.count();
  }

  /** Takes typed bytes; `keys` is what a person would count. False, and nothing kept, where too much waits already. */
  add(bytes: Uint8Array, keys: number): boolean {
    const waiting = this.parts.reduce((sum, part) => sum + part.bytes.length, 0);
    if (waiting + bytes.length > MOST_WAITING) return false;
    for (let at = 0; at < bytes.length; at += LARGEST_PART) {
      this.sequence += 1;
      const isFirst = at === 0;
      const part = { sequence: this.sequence, bytes: bytes.slice(at, at + LARGEST_PART), keys: isFirst ? keys : 0, sent: false };
      this.parts.push(part);
      this.deliver(part);
    }
    this.count();
    return true;
  }

  /**
   * A new attachment takes input. What the program did not get is sent, all of it in order; where the daemon cannot
   * know what it got (`applied` is null), nothing is. Returns how many keys were given up.
   */
  resume(applied: number | null, send: Send): number {
    this.send = send;
    if (applied === null && this.parts.some(({ sent }) => sent)) return this.giveUp();
    this.confirm(applied ?? 0);
    this.sequence = Math.max(this.sequence, applied ?? 0);
    for (const part of this.parts) this.deliver(part);
    return 0;
  }

  /** The attachment is gone: input waits. */
  pause(): void {
    this.send = null;
  }

  /** The program got everything up to a sequence. */
  confirm(sequence: number): void {
    this.parts = this.parts.filter((part) => part.sequence > sequence);
    this.count();
  }

  /** Forgets what waits; returns how many keys that were. */
  giveUp(): number {
    const given = this.unconfirmed.peek();
    this.parts = [];
    this.count();
    return given;
  }

  /** What a later page needs to go on; null where nothing waits. */
  kept(): KeptInput | null {
    if (this.parts.length === 0) return null;
    const parts = this.parts.map((part) => ({ ...part, bytes: toBase64Url(part.bytes) }));
    return { client: this.client, sequence: this.sequence, parts };
  }

  private deliver(part: Part): void {
    if (!this.send) return;
    part.sent = true;
    this.send(part.sequence, part.bytes);
  }

  private count(): void {
    this.unconfirmed.value = this.parts.reduce((sum, { keys }) => sum + keys, 0);
  }
}

/** Keys in typed text: an escape sequence is one, whatever its length. */
export function keysIn(text: string): number {
  return text.startsWith("\x1b") ? 1 : [...text].length;
}

/** One input message. */
interface Part {
  sequence: number;
  bytes: Bytes | Uint8Array;
  keys: number;
  /** Whether an attachment was ever handed it, so that it may have arrived. */
  sent: boolean;
}

/** 16 to 64 lower-case hexadecimal digits, as the daemon asks for. */
function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Bytes of one input message: a large paste goes in parts, since the daemon takes no message above 1 MiB. */
const LARGEST_PART = 32 * 1024;
/** Bytes that may wait: several large pastes; above that a person is told instead. */
const MOST_WAITING = 4 * 1024 * 1024;
