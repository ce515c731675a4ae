import { expect, test } from "vitest";
import { fontFile } from "./font-file";
import { symbolsOf } from "./symbols";

const CELL = { width: 0.6, ascent: 0.93, descent: 0.24 };
const METRICS = { unitsPerEm: 2048, advance: 1229, ascent: 1905, descent: 492 };

test("signs that fill their cell reach every edge of it, and those on the left mirror those on the right", () => {
  const boundsOf = (codePoint: number) => {
    const points = symbolsOf(CELL).find((glyph) => glyph.codePoint === codePoint)?.outlines.flat() ?? [];
    const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
    return { left: Math.min(...xs), right: Math.max(...xs), bottom: Math.min(...ys), top: Math.max(...ys) };
  };
  for (const [right, left] of [[0xe0b0, 0xe0b2], [0xe0b4, 0xe0b6]] as const) {
    const { left: from, right: to, bottom, top } = boundsOf(right);
    expect(from).toBeLessThan(0);
    expect(Math.abs(to - METRICS.advance)).toBeLessThanOrEqual(1);
    expect(bottom).toBeLessThanOrEqual(-METRICS.descent);
    expect(top).toBeGreaterThanOrEqual(METRICS.ascent);
    const mirrored = boundsOf(left);
    expect(mirrored.left).toBe(METRICS.advance - to);
    expect(mirrored.right).toBe(METRICS.advance - from);
  }
});

test("a font is a whole file: its tables lie one behind the other, and the sum over all is the one that is asked for", () => {
  const file = fontFile("Test", METRICS, symbolsOf(CELL));
  const view = new DataView(file);
  const tables = Array.from({ length: view.getUint16(4) }, (_, at) => ({
    tag: String.fromCharCode(...new Uint8Array(file, 12 + at * 16, 4)),
    offset: view.getUint32(20 + at * 16),
    length: view.getUint32(24 + at * 16),
  }));
  expect(tables.map(({ tag }) => tag)).toEqual(["OS/2", "cmap", "glyf", "head", "hhea", "hmtx", "loca", "maxp", "name", "post"]);
  let end = 12 + tables.length * 16;
  for (const { offset, length } of tables) {
    expect(offset).toBe(end);
    end = Math.ceil((offset + length) / 4) * 4;
  }
  expect(end).toBe(file.byteLength);
  let sum = 0;
  for (let at = 0; at < end; at += 4) sum = (sum + view.getUint32(at)) >>> 0;
  expect(sum).toBe(0xb1b0_afba);
  expect(tables.find(({ tag }) => tag === "OS/2")?.length).toBe(96);
});
