import { expect, test } from "vitest";
import type { Line } from "../protocol";
import { matchesIn, stepTo } from "./matches";

const lines = (...texts: string[]): Line[] =>
  texts.map((text, at) => ({ number: 100 + at, text: text.replace(/↵$/, ""), ansi: "", wrapped: text.endsWith("↵") }));

const at = (row: number, first: number, last: number): object => ({ from: { row, column: first }, to: { row, column: last } });

test("every place is found, the upper first", () =>
  expect(matchesIn(lines("an error", "no", "error error"), "error")).toEqual([at(100, 3, 7), at(102, 0, 4), at(102, 6, 10)]));

test("capital letters count only where the text has some", () => {
  expect(matchesIn(lines("Error", "error"), "error")).toHaveLength(2);
  expect(matchesIn(lines("Error", "error"), "Error")).toEqual([at(100, 0, 4)]);
  expect(matchesIn(lines("ÄRGER İ x"), "x")).toEqual([at(100, 8, 8)]);
});

test("columns are cells", () => expect(matchesIn(lines("한글 e\u0301 end"), "end")).toEqual([at(100, 7, 9)]));

test("a text that goes on in the next line is found", () =>
  expect(matchesIn(lines("see /etc/ho↵", "sts now", "x"), "/etc/hosts")).toEqual([{ from: { row: 100, column: 4 }, to: { row: 101, column: 2 } }]));

test("nothing is nowhere", () => {
  expect(matchesIn(lines("a"), "")).toEqual([]);
  expect(matchesIn(lines("a"), "b")).toEqual([]);
});

test("steps go from the last one up, and from any place both ways, to an end", () => {
  const matches = matchesIn(lines("a a", "b", "a"), "a");
  expect(stepTo(matches, null, "up")).toBe(2);
  expect(stepTo(matches, matches[2] ?? null, "up")).toBe(1);
  expect(stepTo(matches, matches[0] ?? null, "up")).toBeNull();
  expect(stepTo(matches, matches[0] ?? null, "down")).toBe(1);
  expect(stepTo(matches, matches[2] ?? null, "down")).toBeNull();
});
