import { beforeEach, expect, test, vi } from "vitest";
import { Blink } from "./blink";

let shown: boolean[] = [];
let may = true;
const blink = (): Blink => new Blink((yes) => shown.push(yes), () => may);

beforeEach(() => {
  vi.useFakeTimers();
  [shown, may] = [[], true];
});

test("a cursor goes and comes, and stays there in the end", () => {
  blink().restart();
  vi.advanceTimersByTime(1200);
  expect(shown).toEqual([false, true]);
  vi.advanceTimersByTime(60_000);
  expect(shown).toHaveLength(20);
  expect(shown.at(-1)).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test("what is drawn shows the cursor at once, and for a whole half at least", () => {
  const cursor = blink();
  cursor.restart();
  vi.advanceTimersByTime(700);
  cursor.drawn();
  expect(shown).toEqual([false, true]);
  vi.advanceTimersByTime(1199);
  expect(shown).toEqual([false, true]);
  vi.advanceTimersByTime(1);
  expect(shown).toEqual([false, true, false]);
});

test("while something is drawn all the time the cursor is there, and no timer is set anew", () => {
  const cursor = blink();
  cursor.restart();
  for (let at = 0; at < 100; at += 1) {
    cursor.drawn();
    vi.advanceTimersByTime(50);
    expect(vi.getTimerCount()).toBe(1);
  }
  expect(shown).toEqual([]);
});

test("a cursor that may not blink is there, and asks for no time", () => {
  const cursor = blink();
  cursor.restart();
  vi.advanceTimersByTime(700);
  may = false;
  cursor.restart();
  cursor.drawn();
  expect(shown).toEqual([false, true]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a screen that is gone keeps no timer", () => {
  const cursor = blink();
  cursor.restart();
  cursor.stop();
  expect(vi.getTimerCount()).toBe(0);
});
