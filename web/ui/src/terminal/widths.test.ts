import { expect, test } from "vitest";
import { daemonWidths, width } from "./widths";

test.each([
  ["a", 1],
  ["é", 1],
  ["漢", 2],
  ["🚀", 2],
  ["\u0301", 0],
  ["\u200d", 0],
  ["\ufe0f", 0],
  ["☁", 1],
  ["─", 1],
  ["\u1160", 0],
])("%s takes %d", (character, cells) => {
  expect(width(character.codePointAt(0) ?? 0)).toBe(cells);
});

test("an accent joins the cell before it and keeps that cell's width", () => {
  const wide = daemonWidths.charProperties("漢".codePointAt(0) ?? 0, 0);
  expect(daemonWidths.charProperties(0x301, wide)).toBe((2 << 1) | 1);
  expect(daemonWidths.charProperties(0x301, 0)).toBe(0);
});
