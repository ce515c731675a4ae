import { expect, test } from "vitest";
import { named, NO_MODIFIERS, pressOf, released, tapped, under, type Modifiers } from "./modifiers";

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
  expect(released(BOTH)).toBe(BOTH);
  expect(released(NO_MODIFIERS)).toBe(NO_MODIFIERS);
});

test("a character under a modifier is a press of its key", () => {
  expect(pressOf("c", CTRL)).toMatchObject({ key: "c", ctrl: true, alt: false });
  expect(pressOf("b", BOTH)).toMatchObject({ key: "b", ctrl: true, alt: true });
  expect(pressOf("🚀", ALT)).toMatchObject({ key: "🚀", alt: true });
});

test("a word, a paste and what no modifier is on for are nobody's key", () => {
  expect(pressOf("ls -la", BOTH)).toBeNull();
  expect(pressOf("c", NO_MODIFIERS)).toBeNull();
});

test("a key keeps the modifiers that it was pressed with", () => {
  expect(under({ ...named("ArrowUp"), shift: true, alt: true }, CTRL)).toMatchObject({ key: "ArrowUp", shift: true, alt: true, ctrl: true });
});
