import { beforeEach, expect, test } from "vitest";
import { utf8 } from "../api/encoding";
import type { Size } from "../protocol";
import { Display, type Canvas } from "./display";

/** Keeps what was asked of it, in order. */
class Sketch implements Canvas {
  readonly done: string[] = [];
  write(bytes: Uint8Array, drawn: () => void): void {
    this.done.push(new TextDecoder().decode(bytes));
    drawn();
  }
  reset({ columns, rows }: Size): void {
    this.done.push(`reset ${columns}×${rows}`);
  }
  resize({ columns, rows }: Size): void {
    this.done.push(`size ${columns}×${rows}`);
  }
}

let sketch: Sketch;
let drawn: number[];
let display: Display;
const SIZE = { columns: 80, rows: 24 };

beforeEach(() => {
  sketch = new Sketch();
  drawn = [];
  display = new Display(sketch, (offset) => drawn.push(offset));
});

test("output goes on from the ground offset of the snapshot", () => {
  display.snapshot(100, SIZE, utf8("screen"));
  expect(display.output(100, utf8("more"))).toBe(true);
  expect(sketch.done).toEqual(["reset 80×24", "screen", "more"]);
  expect(drawn).toEqual([100, 104]);
  expect(display.begin()).toBe(104);
});

test("what was drawn before is not drawn twice", () => {
  display.snapshot(100, SIZE, utf8(""));
  display.output(98, utf8("abcd"));
  expect(sketch.done.at(-1)).toBe("cd");
  display.output(90, utf8("old"));
  expect(display.begin()).toBe(102);
});

test("missing output is never papered over: the next attach asks for a snapshot", () => {
  display.snapshot(100, SIZE, utf8(""));
  expect(display.output(101, utf8("x"))).toBe(false);
  expect(display.isBroken).toBe(true);
  expect(display.begin()).toBeNull();
  display.snapshot(200, SIZE, utf8("whole"));
  expect(display.isBroken).toBe(false);
  expect(display.begin()).toBe(200);
});

test("output before any snapshot cannot be drawn", () => {
  expect(display.output(0, utf8("x"))).toBe(false);
  expect(sketch.done).toEqual([]);
});

test("a size acts between the output before and after it", () => {
  display.snapshot(0, SIZE, utf8(""));
  display.output(0, utf8("a"));
  display.resize({ columns: 100, rows: 30 });
  display.output(1, utf8("b"));
  expect(sketch.done.slice(2)).toEqual(["a", "size 100×30", "b"]);
});
