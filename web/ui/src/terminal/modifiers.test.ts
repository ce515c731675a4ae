import { expect, test } from "vitest";
import { barKey, modified, NO_MODIFIERS, released, tapped, type Modifiers } from "./modifiers";

const CTRL: Modifiers = { ctrl: "once", alt: "off" };
const ALT: Modifiers = { ctrl: "off", alt: "once" };
const BOTH: Modifiers = { ctrl: "locked", alt: "locked" };

test("a tap is for one key, a second locks, a third lets go", () => {
  expect(tapped("off")).toBe("once");
  expect(tapped("once")).toBe("locked");
  expect(tapped("locked")).toBe("off");
});

test("a key lets go of what was for one key, not of what is locked", () => {
  expect(released(CTRL)).toEqual(NO_MODIFIERS);
  expect(released(BOTH)).toEqual(BOTH);
});

test.each([
  ["c", "\x03"],
  ["C", "\x03"],
  ["[", "\x1b"],
  [" ", "\0"],
  ["?", "\x7f"],
  ["/", "\x1f"],
  ["é", "é"],
])("ctrl and %j", (key, sent) => {
  expect(modified(key, CTRL)).toBe(sent);
});

test("alt puts an escape before", () => {
  expect(modified("b", ALT)).toBe("\x1bb");
  expect(modified("b", BOTH)).toBe("\x1b\x02");
});

test("a word or a paste is nobody's key", () => {
  expect(modified("ls -la", BOTH)).toBe("ls -la");
});

test("one character of two code units is one key", () => {
  expect(modified("🚀", ALT)).toBe("\x1b🚀");
});

test("arrows are what the program asked for", () => {
  expect(barKey("up", NO_MODIFIERS, false)).toBe("\x1b[A");
  expect(barKey("up", NO_MODIFIERS, true)).toBe("\x1bOA");
  expect(barKey("left", CTRL, true)).toBe("\x1b[1;5D");
  expect(barKey("right", ALT, false)).toBe("\x1b[1;3C");
  expect(barKey("down", BOTH, false)).toBe("\x1b[1;7B");
});

test("escape and tab are themselves", () => {
  expect(barKey("escape", NO_MODIFIERS, false)).toBe("\x1b");
  expect(barKey("tab", ALT, false)).toBe("\x1b\t");
});
