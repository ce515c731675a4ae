import { expect, test } from "vitest";
import { decode, encodeAck, encodeClaim, encodeInput, encodePing, encodeSize, encodeVisibility, encodeYield } from "./attach";
import { concat, utf8 } from "./encoding";

/** A message from its parts; numbers are single bytes. */
function message(...parts: (number | string | Uint8Array)[]): ArrayBuffer {
  return concat(...parts.map((part) => (typeof part === "number" ? Uint8Array.of(part) : typeof part === "string" ? utf8(part) : part)))
    .buffer;
}

const OFFSET_258 = Uint8Array.of(0, 0, 0, 0, 0, 0, 1, 2);
const SIZE_80_24 = Uint8Array.of(0, 80, 0, 24);

test("output carries its offset", () => {
  expect(decode(message(0x01, OFFSET_258, "hi"))).toEqual({ kind: "output", offset: 258, bytes: utf8("hi") });
});

test("a snapshot carries its ground offset and size", () => {
  const size = { columns: 80, rows: 24 };
  expect(decode(message(0x02, OFFSET_258, SIZE_80_24, "x"))).toEqual({ kind: "snapshot", ground: 258, size, bytes: utf8("x") });
});

test("a size carries who holds it", () => {
  const claim = { holder: false, taken_from: false, by: "laptop" };
  const decoded = decode(message(0x03, OFFSET_258, SIZE_80_24, JSON.stringify(claim)));
  expect(decoded).toEqual({ kind: "size", offset: 258, size: { columns: 80, rows: 24 }, claim });
});

test("hello and exit are JSON", () => {
  expect(decode(message(0x00, '{"session":"ses_1"}'))).toEqual({ kind: "hello", hello: { session: "ses_1" } });
  expect(decode(message(0x04, '{"code":7}'))).toEqual({ kind: "exit", exit: { code: 7 } });
});

test("confirmed input and a pong carry their numbers, presence is JSON", () => {
  expect(decode(message(0x05, OFFSET_258))).toEqual({ kind: "input_applied", sequence: 258 });
  expect(decode(message(0x07, OFFSET_258))).toEqual({ kind: "pong", number: 258 });
  const presence = { viewers: 2, writers: 1, typing: ["laptop"] };
  expect(decode(message(0x06, JSON.stringify(presence)))).toEqual({ kind: "presence", presence });
});

test("a type of a newer daemon is no error", () => {
  expect(decode(message(0x42, "?"))).toEqual({ kind: "unknown", type: 0x42 });
});

test("a message that is cut is an error", () => {
  expect(() => decode(message(0x01, "abc"))).toThrow(RangeError);
  expect(() => decode(message(0x04, '{"co'))).toThrow(SyntaxError);
  expect(() => decode(message())).toThrow(RangeError);
});

test("input and acks are what the daemon reads", () => {
  expect(encodeInput(1, utf8("ls\r"))).toEqual(concat(Uint8Array.of(0x10, 0, 0, 0, 0, 0, 0, 0, 1), utf8("ls\r")));
  expect(encodeAck(2 ** 40 + 1)).toEqual(Uint8Array.of(0x12, 0, 0, 1, 0, 0, 0, 0, 1));
});

test("size, claim, yield, ping and visibility are what the daemon reads", () => {
  expect(encodeSize({ columns: 300, rows: 24 })).toEqual(Uint8Array.of(0x11, 1, 44, 0, 24));
  expect([encodeClaim(), encodeYield()]).toEqual([Uint8Array.of(0x13), Uint8Array.of(0x14)]);
  expect(encodePing(258)).toEqual(Uint8Array.of(0x15, 0, 0, 0, 0, 0, 0, 1, 2));
  expect([encodeVisibility(false, false), encodeVisibility(true, false), encodeVisibility(true, true)].map((bytes) => bytes[1])).toEqual([0, 1, 3]);
});
