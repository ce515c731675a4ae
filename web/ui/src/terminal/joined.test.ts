import { expect, test } from "vitest";
import { joinedSigns } from "./joined";

const runs = (text: string): string[] => joinedSigns(text).map(([start, end]) => text.slice(start, end));

test("families and skin tones are one run each", () => {
  expect(runs("a👩‍👩‍👧‍👧|👍🏽|")).toEqual(["👩‍👩‍👧‍👧", "👍🏽"]);
  expect(runs("👩🏽‍💻x")).toEqual(["👩🏽‍💻"]);
});

test("signs that stand alone are not", () => {
  expect(runs("✅ 👩 👧 é 한 ab")).toEqual([]);
  expect(runs("👩👧")).toEqual([]);
});
