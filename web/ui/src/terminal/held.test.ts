import { beforeEach, expect, test } from "vitest";
import { HeldCanvas } from "./held";

let seen: string[];
let canvas: HeldCanvas;

beforeEach(() => {
  seen = [];
  canvas = new HeldCanvas({
    write: (bytes, drawn) => {
      seen.push(`write ${bytes.length}`);
      drawn();
    },
    reset: ({ columns, rows }) => seen.push(`reset ${columns}x${rows}`),
    resize: ({ columns, rows }) => seen.push(`resize ${columns}x${rows}`),
  });
});

const write = (length: number, drawn = (): void => undefined): void => canvas.write(new Uint8Array(length), drawn);

test("while it is held nothing is drawn or acknowledged, and afterwards all of it in order", () => {
  const acknowledged: number[] = [];
  write(1);
  canvas.hold();
  write(2, () => acknowledged.push(2));
  canvas.resize({ columns: 100, rows: 30 });
  write(3, () => acknowledged.push(3));
  expect(seen).toEqual(["write 1"]);
  expect(acknowledged).toEqual([]);
  canvas.release();
  expect(seen).toEqual(["write 1", "write 2", "resize 100x30", "write 3"]);
  expect(acknowledged).toEqual([2, 3]);
  write(4);
  expect(seen.at(-1)).toBe("write 4");
});

test("a snapshot replaces what waits", () => {
  canvas.hold();
  write(2);
  canvas.reset({ columns: 80, rows: 24 });
  write(5);
  canvas.release();
  expect(seen).toEqual(["reset 80x24", "write 5"]);
});

test("holding twice loses nothing, and letting go twice draws nothing twice", () => {
  canvas.hold();
  write(2);
  canvas.hold();
  canvas.release();
  canvas.release();
  expect(seen).toEqual(["write 2"]);
});
