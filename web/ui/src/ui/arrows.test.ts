import { expect, test } from "vitest";
import { nextRow } from "./arrows";

test("arrows go to the next row and stop at the ends, Home and End go there at once", () => {
  expect(nextRow("ArrowDown", 0, 3)).toBe(1);
  expect(nextRow("ArrowDown", 2, 3)).toBe(2);
  expect(nextRow("ArrowUp", 0, 3)).toBe(0);
  expect(nextRow("ArrowUp", 2, 3)).toBe(1);
  expect(nextRow("Home", 2, 3)).toBe(0);
  expect(nextRow("End", 0, 3)).toBe(2);
});

test("other keys lead nowhere", () => {
  expect(nextRow("a", 1, 3)).toBeUndefined();
});
