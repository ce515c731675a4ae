import { expect, test } from "vitest";
import { closed, dividers, neighbour, parseTiles, places, sessionsIn, shared, shown, split, type Tiles } from "./tiles";

const id = (letter: string): string => `ses_${letter.repeat(16)}`;
const [A, B, C, D] = [id("a"), id("b"), id("c"), id("d")];

/** A on the left; B over C on the right. */
const THREE: Tiles = split(split(A, A, "right", B), B, "below", C);

test("a first session has the whole screen", () => {
  expect(places(shown(null, A, null)).get(A)).toEqual({ left: 0, top: 0, width: 1, height: 1 });
});

test("a session that is on the screen is shown where it is", () => {
  expect(shown(THREE, C, A)).toEqual(THREE);
});

test("another session takes the place of the one that keys went to", () => {
  expect(sessionsIn(shown(THREE, D, B))).toEqual([A, D, C]);
});

test("another session takes the first place where nothing had the keys", () => {
  expect(sessionsIn(shown(THREE, D, null))).toEqual([D, B, C]);
});

test("a split halves the space of one tile alone", () => {
  expect([...places(THREE)]).toEqual([
    [A, { left: 0, top: 0, width: 0.5, height: 1 }],
    [B, { left: 0.5, top: 0, width: 0.5, height: 0.5 }],
    [C, { left: 0.5, top: 0.5, width: 0.5, height: 0.5 }],
  ]);
});

test("a split with a session that is on the screen moves it", () => {
  expect(sessionsIn(split(THREE, C, "right", A))).toEqual([B, C, A]);
  expect(split(A, A, "right", A)).toBe(A);
});

test("what is beside a closed tile takes its space", () => {
  expect(places(closed(THREE, A) ?? A).get(B)).toEqual({ left: 0, top: 0, width: 1, height: 0.5 });
  expect(closed(closed(closed(THREE, A) ?? A, B) ?? A, C)).toBeNull();
});

test("a neighbour is on the other side of the edge, and the screen's edge has none", () => {
  expect(neighbour(THREE, B, "left")).toBe(A);
  expect(neighbour(THREE, B, "down")).toBe(C);
  expect(neighbour(THREE, C, "up")).toBe(B);
  expect(neighbour(THREE, A, "right")).toBe(B);
  expect([neighbour(THREE, A, "left"), neighbour(THREE, A, "up"), neighbour(THREE, C, "right"), neighbour(THREE, D, "up")]).toEqual([
    null,
    null,
    null,
    null,
  ]);
});

test("a divider moves the halves that meet there, and leaves neither without space", () => {
  expect(dividers(THREE).map(({ path }) => path)).toEqual([[], ["second"]]);
  expect(places(shared(THREE, [], 0.25)).get(A)?.width).toBe(0.25);
  expect(places(shared(THREE, ["second"], 0.75)).get(C)).toEqual({ left: 0.5, top: 0.75, width: 0.5, height: 0.25 });
  expect(places(shared(THREE, [], 3)).get(A)?.width).toBe(0.9);
});

test("what was kept is what it was", () => {
  expect(parseTiles(JSON.stringify(THREE))).toEqual(THREE);
});

test("what is no layout is none", () => {
  const half = { side: "right", share: 0.5, first: A, second: B };
  for (const kept of [null, "", "{", "[]", '"a"', JSON.stringify({ ...half, second: A }), JSON.stringify({ ...half, share: 7 })]) {
    expect(parseTiles(kept)).toBeNull();
  }
});
