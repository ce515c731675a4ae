import { beforeEach, expect, test } from "vitest";
import type { Screen } from "../protocol";
import { placeOf, Scrollback } from "./scrollback";

const ROWS = 5;
/** A program's lines: how many there are, from which on they are kept, and the width they are drawn at. */
let printed: number;
let oldest: number;
let columns: number;
let alternate: boolean;
let asked: [number, number | undefined][];

beforeEach(() => {
  [printed, oldest, columns, alternate, asked] = [1000, 0, 80, false, []];
});

/** What the daemon answers. */
async function read(lines: number, before?: number): Promise<Screen> {
  asked.push([lines, before]);
  const top = printed - ROWS;
  const end = before ?? printed;
  const from = Math.max(oldest, (before ?? top) - lines);
  const numbers = Array.from({ length: Math.max(0, end - from) }, (_, at) => from + at);
  return {
    size: { columns, rows: ROWS },
    title: "",
    alternate,
    cursor: [0, 0],
    cursor_visible: true,
    first_line: oldest,
    top_line: top,
    lines: numbers.map((number) => ({ number, ansi: `${number}`, text: `${number}`, wrapped: false })),
  };
}

async function open(): Promise<Scrollback> {
  const scrollback = await Scrollback.open(read);
  if (!scrollback) throw new Error("there is scrollback");
  return scrollback;
}

/** The numbers from the first to the last, once each is one more than the one before. */
function range(scrollback: Scrollback): [number, number] {
  const numbers = scrollback.lines.map(({ number }) => number);
  for (const [at, number] of numbers.entries()) expect(number).toBe((numbers[0] ?? 0) + at);
  return [numbers[0] ?? -1, numbers.at(-1) ?? -1];
}

test("it begins with the screen and some lines above it", async () => {
  expect(range(await open())).toEqual([895, 999]);
});

test("older lines join without a gap or a double, whatever is printed meanwhile, down to the oldest", async () => {
  const scrollback = await open();
  while (scrollback.hasOlder) {
    printed += 333;
    await scrollback.older();
  }
  expect(range(scrollback)).toEqual([0, 999]);
  expect(await scrollback.older()).toBe(0);
});

test("going down, what was printed since is read, all of it, until the live screen follows", async () => {
  const scrollback = await open();
  printed += 5000;
  expect(await scrollback.newer()).toBe("grew");
  expect(range(scrollback)).toEqual([895, 5999]);
  printed += ROWS;
  expect(await scrollback.newer()).toBe("joins_live");
  expect(range(scrollback)).toEqual([895, 6004]);
});

test("lines of the screen that have changed are shown as they are now", async () => {
  let word = "old";
  const scrollback = await Scrollback.open(async (lines, before) => {
    const screen = await read(lines, before);
    return { ...screen, lines: screen.lines.map((line) => ({ ...line, text: word })) };
  });
  word = "new";
  await scrollback?.newer();
  expect(scrollback?.lines.at(-1)?.text).toBe("new");
  expect(scrollback?.lines).toHaveLength(105);
});

test("lines that the daemon has trimmed leave no hole", async () => {
  const scrollback = await open();
  oldest = 895;
  expect(await scrollback.older()).toBe(0);
  printed += 9000;
  oldest = 4000;
  expect(await scrollback.newer()).toBe("grew");
  expect(range(scrollback)).toEqual([4000, 9999]);
});

test("another width makes other lines, and none of them is mixed in", async () => {
  const scrollback = await open();
  columns = 100;
  expect(await scrollback.older()).toBe(0);
  expect(await scrollback.newer()).toBe("reflowed");
  expect(range(scrollback)).toEqual([895, 999]);
});

test("a full-screen program has no scrollback, and neither has a session that is young", async () => {
  alternate = true;
  expect(await Scrollback.open(read)).toBeNull();
  [alternate, printed] = [false, ROWS];
  expect(await Scrollback.open(read)).toBeNull();
});

test("pages are small at first and grow", async () => {
  const scrollback = await open();
  printed = 100_000;
  for (let count = 0; count < 3; count += 1) await scrollback.older();
  expect(asked.map(([lines]) => lines)).toEqual([100, 200, 400, 800]);
});

const texts = (...all: string[]) => all.map((text) => ({ text }));

test("the rows of a screen that has moved on are found where they are now, of others that read the same the last", () => {
  const lines = texts("$ make", "ok", "$ make", "ok", "$ make test", "ok", "$");
  expect(placeOf(["$ make", "ok", "$", ""], { first: 1, last: 1 }, lines)).toBe(4);
  expect(placeOf(["$ make", "ok", "$ make test", ""], { first: 0, last: 1 }, lines)).toBe(2);
});

test("rows that the program has written over since are no obstacle, those that are looked for are", () => {
  const lines = texts("compiled", "100 %", "done");
  expect(placeOf(["compiled", "99 %"], { first: 0, last: 0 }, lines)).toBe(0);
  expect(placeOf(["compiled", "99 %"], { first: 1, last: 1 }, lines)).toBeNull();
});

test("a screen whose upper rows are gone is found by the rest", () => {
  expect(placeOf(["trimmed", "kept", "$"], { first: 1, last: 1 }, texts("kept", "$"))).toBe(-1);
});
