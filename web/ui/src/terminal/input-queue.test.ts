import { beforeEach, expect, test } from "vitest";
import { utf8 } from "../api/encoding";
import { InputQueue, keysIn } from "./input-queue";

let queue: InputQueue;
let sent: [number, string][];
const send = (sequence: number, bytes: Uint8Array): void => void sent.push([sequence, new TextDecoder().decode(bytes)]);
const type = (text: string): boolean => queue.add(utf8(text), keysIn(text));

beforeEach(() => {
  queue = new InputQueue();
  sent = [];
});

test("a client id is what the daemon takes, and another one each time", () => {
  expect(queue.client).toMatch(/^[0-9a-f]{16,64}$/);
  expect(new InputQueue().client).not.toBe(queue.client);
});

test("input counts on over attachments, and what did not arrive is sent again in order", () => {
  queue.resume(0, send);
  for (const key of ["a", "b", "c"]) type(key);
  queue.pause();
  type("d");
  expect(queue.unconfirmed.value).toBe(4);
  sent = [];
  expect(queue.resume(2, send)).toBe(0);
  type("e");
  expect(sent).toEqual([[3, "c"], [4, "d"], [5, "e"]]);
  queue.confirm(5);
  expect(queue.unconfirmed.value).toBe(0);
});

test("where the daemon cannot know, nothing is sent again and the person hears of how much", () => {
  queue.resume(0, send);
  for (const key of ["l", "s", "\x1b[A"]) type(key);
  queue.confirm(1);
  queue.pause();
  type("x");
  sent = [];
  expect(queue.resume(null, send)).toBe(3);
  expect(sent).toEqual([]);
  expect(queue.unconfirmed.value).toBe(0);
  type("y");
  expect(sent).toEqual([[5, "y"]]);
});

test("what no attachment was ever handed is not in doubt", () => {
  type("a");
  expect(queue.resume(null, send)).toBe(0);
  expect(sent).toEqual([[1, "a"]]);
});

test("a later page goes on where the former one was left", () => {
  queue.resume(0, send);
  type("grün");
  type("→");
  const later = new InputQueue(JSON.parse(JSON.stringify(queue.kept())));
  expect(later.client).toBe(queue.client);
  expect(later.unconfirmed.value).toBe(5);
  sent = [];
  later.resume(1, send);
  expect(sent).toEqual([[2, "→"]]);
  later.confirm(2);
  expect(later.kept()).toBeNull();
});

test("a large paste goes in parts that the daemon takes, whole, in order, and counted once", () => {
  queue.resume(0, send);
  type("x".repeat(70_000));
  expect(sent.map(([sequence, text]) => [sequence, text.length])).toEqual([[1, 32_768], [2, 32_768], [3, 4_464]]);
  expect(queue.unconfirmed.value).toBe(70_000);
});

test("more than can wait is refused, and nothing of it is kept", () => {
  expect(type("x".repeat(4 * 1024 * 1024))).toBe(true);
  expect(type("y")).toBe(false);
  queue.resume(0, send);
  expect(sent.every(([, text]) => !text.includes("y"))).toBe(true);
});

test("a daemon that has applied more than this page knows of is counted on from", () => {
  queue.resume(7, send);
  type("a");
  expect(sent).toEqual([[8, "a"]]);
});
