import type { ClaimChange, Exit, Hello, Presence, Size } from "../protocol";
import { concat, type Bytes } from "./encoding";

/** A message of the daemon on an attachment; offsets count output bytes since the session began. */
export type ServerMessage =
  | { kind: "hello"; hello: Hello }
  | { kind: "output"; offset: number; bytes: Uint8Array }
  | { kind: "snapshot"; ground: number; size: Size; bytes: Uint8Array }
  | { kind: "size"; offset: number; size: Size; claim: ClaimChange }
  | { kind: "exit"; exit: Exit }
  | { kind: "input_applied"; sequence: number }
  | { kind: "presence"; presence: Presence }
  | { kind: "pong"; number: number }
  | { kind: "unknown"; type: number };

/** Reads one binary message; throws a `RangeError` or `SyntaxError` where the bytes are cut or no JSON. */
export function decode(message: ArrayBuffer): ServerMessage {
  const view = new DataView(message);
  const type = view.getUint8(0);
  switch (type) {
    case HELLO:
      return { kind: "hello", hello: json(message, 1) };
    case OUTPUT:
      return { kind: "output", offset: numberAt(view, 1), bytes: new Uint8Array(message, 9) };
    case SNAPSHOT:
      return { kind: "snapshot", ground: numberAt(view, 1), size: sizeAt(view, 9), bytes: new Uint8Array(message, 13) };
    case SIZE:
      return { kind: "size", offset: numberAt(view, 1), size: sizeAt(view, 9), claim: json(message, 13) };
    case EXIT:
      return { kind: "exit", exit: json(message, 1) };
    case INPUT_APPLIED:
      return { kind: "input_applied", sequence: numberAt(view, 1) };
    case PRESENCE:
      return { kind: "presence", presence: json(message, 1) };
    case PONG:
      return { kind: "pong", number: numberAt(view, 1) };
    default:
      // A newer daemon may have more to say; nothing that this version draws depends on it.
      return { kind: "unknown", type };
  }
}

/** Bytes for the program; the sequence counts from 1 over all attachments of one client id. */
export function encodeInput(sequence: number, bytes: Uint8Array): Bytes {
  return concat(numbered(INPUT, sequence), bytes);
}

/** Says that all output before the offset is drawn. */
export function encodeAck(offset: number): Bytes {
  return numbered(ACK, offset);
}

/** Says which size this screen could show. */
export function encodeSize({ columns, rows }: Size): Bytes {
  const bytes = new Uint8Array(5);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, SIZE_OFFERED);
  view.setUint16(1, columns);
  view.setUint16(3, rows);
  return bytes;
}

/** Takes the claim: the session gets the size that was offered last. */
export function encodeClaim(): Bytes {
  return Uint8Array.of(CLAIM);
}

/** Gives the claim back. */
export function encodeYield(): Bytes {
  return Uint8Array.of(YIELD);
}

/** Asks whether the daemon is still there; the number comes back in the pong. */
export function encodePing(number: number): Bytes {
  return numbered(PING, number);
}

/** Says what the person sees: whether the page shows, and whether it shows the newest output. */
export function encodeVisibility(visible: boolean, atLiveEdge: boolean): Bytes {
  return Uint8Array.of(VISIBILITY, (visible ? 1 : 0) | (atLiveEdge ? 2 : 0));
}

function numbered(type: number, value: number): Bytes {
  const bytes = new Uint8Array(9);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, type);
  view.setBigUint64(1, BigInt(value));
  return bytes;
}

/** Offsets and sequences stay below 2⁵³ (`protocol`), so a number holds them. */
function numberAt(view: DataView, at: number): number {
  return Number(view.getBigUint64(at));
}

function sizeAt(view: DataView, at: number): Size {
  return { columns: view.getUint16(at), rows: view.getUint16(at + 2) };
}

function json<T>(message: ArrayBuffer, at: number): T {
  return JSON.parse(new TextDecoder().decode(new Uint8Array(message, at))) as T;
}

/** Close codes of an attachment. */
export const CLOSE_REVOKED = 4401;
export const CLOSE_NOT_PERMITTED = 4403;
/** The reason of {@link CLOSE_NOT_PERMITTED} where the daemon cannot write to its disk, whoever comes. */
export const UNWRITTEN = "the audit trail cannot be written";
export const CLOSE_GONE = 4404;
/** The reason of {@link CLOSE_GONE} where nobody knows how the program ended, and all that is kept of it was sent. */
export const LOST = "the session is lost";
export const CLOSE_TOO_MANY = 4429;
/** RFC 6455's registry: service restart. */
export const CLOSE_RESTARTING = 1012;

const HELLO = 0x00;
const OUTPUT = 0x01;
const SNAPSHOT = 0x02;
const SIZE = 0x03;
const EXIT = 0x04;
const INPUT_APPLIED = 0x05;
const PRESENCE = 0x06;
const PONG = 0x07;
const INPUT = 0x10;
const SIZE_OFFERED = 0x11;
const ACK = 0x12;
const CLAIM = 0x13;
const YIELD = 0x14;
const PING = 0x15;
const VISIBILITY = 0x16;
