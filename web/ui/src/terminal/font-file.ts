/** A point of an outline, in font units; one that is not on the curve bends it (a quadratic Bézier's control point). */
export type Point = readonly [x: number, y: number, isOn: boolean];

/** A sign: closed outlines, filled where they wind around a place. */
export interface Glyph {
  codePoint: number;
  outlines: readonly (readonly Point[])[];
}

/** What holds for every sign of a font, in font units. */
export interface FontMetrics {
  unitsPerEm: number;
  /** Width of each sign with the space around it. */
  advance: number;
  /** Above the baseline. */
  ascent: number;
  /** Below the baseline, as a positive number. */
  descent: number;
}

/**
 * A TrueType font with the given signs, as a file (OpenType 1.9, "glyf" outlines). Code points ascend and lie in the basic
 * plane.
 */
export function fontFile(name: string, metrics: FontMetrics, glyphs: readonly Glyph[]): ArrayBuffer {
  const drawn = [new Bytes(), ...glyphs.map(({ outlines }) => outlineOf(outlines))];
  const bounds = boundsOf(glyphs.flatMap(({ outlines }) => outlines.flat()));
  const tables: [tag: string, table: Bytes][] = [
    ["OS/2", system(metrics, glyphs)],
    ["cmap", characters(glyphs)],
    ["glyf", drawn.reduce((all, glyph) => all.bytes(glyph), new Bytes())],
    ["head", head(metrics, bounds)],
    ["hhea", horizontal(metrics, bounds, drawn.length)],
    ["hmtx", glyphs.reduce((all, { outlines }) => all.u16(metrics.advance, boundsOf(outlines.flat()).left), new Bytes().u16(metrics.advance, 0))],
    ["loca", locations(drawn)],
    ["maxp", most(glyphs)],
    ["name", names(name)],
    ["post", new Bytes().u32(0x0003_0000, 0).u16(0, 0).u32(1, 0, 0, 0, 0)],
  ];
  return assembled(tables);
}

/** Numbers in the order in which they are given, the greater byte first. */
class Bytes {
  readonly all: number[] = [];

  u16(...values: number[]): this {
    for (const value of values) this.all.push((value >> 8) & 0xff, value & 0xff);
    return this;
  }

  u32(...values: number[]): this {
    for (const value of values) this.u16(value >>> 16, value & 0xffff);
    return this;
  }

  bytes(other: Bytes): this {
    this.all.push(...other.all);
    return this;
  }

  /** To a multiple of four, as tables and outlines begin. */
  padded(): this {
    while (this.all.length % 4 !== 0) this.all.push(0);
    return this;
  }

  get length(): number {
    return this.all.length;
  }
}

interface Bounds {
  left: number;
  bottom: number;
  right: number;
  top: number;
}

function boundsOf(points: readonly Point[]): Bounds {
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  return { left: Math.min(...xs), bottom: Math.min(...ys), right: Math.max(...xs), top: Math.max(...ys) };
}

/** An entry of "glyf", each coordinate as a whole word: a dozen signs need no packing. */
function outlineOf(outlines: Glyph["outlines"]): Bytes {
  const points = outlines.flat();
  const { left, bottom, right, top } = boundsOf(points);
  const entry = new Bytes().u16(outlines.length, left, bottom, right, top);
  let last = -1;
  for (const outline of outlines) entry.u16((last += outline.length));
  entry.u16(0);
  for (const [, , isOn] of points) entry.all.push(isOn ? 1 : 0);
  for (const axis of [0, 1] as const) points.forEach((point, at) => entry.u16(point[axis] - (points[at - 1]?.[axis] ?? 0)));
  return entry.padded();
}

/** "loca": where each entry begins, and where the last one ends. */
function locations(drawn: readonly Bytes[]): Bytes {
  let at = 0;
  return drawn.reduce((all, { length }) => all.u32((at += length)), new Bytes().u32(0));
}

/** "cmap" with one table of format 4: runs of code points whose signs follow each other, too. */
function characters(glyphs: readonly Glyph[]): Bytes {
  const runs: { first: number; last: number; delta: number }[] = [];
  glyphs.forEach(({ codePoint }, at) => {
    const run = runs.at(-1);
    if (run?.last === codePoint - 1) run.last = codePoint;
    else runs.push({ first: codePoint, last: codePoint, delta: at + 1 - codePoint });
  });
  runs.push({ first: 0xffff, last: 0xffff, delta: 1 });
  const power = 2 ** Math.floor(Math.log2(runs.length));
  const table = new Bytes()
    .u16(4, 16 + runs.length * 8, 0, runs.length * 2, power * 2, Math.log2(power), (runs.length - power) * 2)
    .u16(...runs.map(({ last }) => last), 0, ...runs.map(({ first }) => first), ...runs.map(({ delta }) => delta), ...runs.map(() => 0));
  // Windows, Unicode's basic plane; it begins behind this.
  return new Bytes().u16(0, 1, 3, 1).u32(12).bytes(table);
}

function head({ unitsPerEm }: FontMetrics, { left, bottom, right, top }: Bounds): Bytes {
  return new Bytes()
    .u32(0x0001_0000, 0x0001_0000, 0, 0x5f0f_3cf5)
    .u16(1, unitsPerEm)
    .u32(0, 0, 0, 0)
    .u16(left, bottom, right, top, 0, 6, 2, LONG_LOCATIONS, 0);
}

function horizontal({ advance, ascent, descent }: FontMetrics, { left, right }: Bounds, count: number): Bytes {
  return new Bytes()
    .u32(0x0001_0000)
    .u16(ascent, -descent, 0, advance, left, advance - right, right, 1, 0, 0, 0, 0, 0, 0, 0, count);
}

/** "maxp": how much room the largest sign takes; there are no instructions. */
function most(glyphs: readonly Glyph[]): Bytes {
  const points = Math.max(...glyphs.map(({ outlines }) => outlines.flat().length));
  const outlines = Math.max(...glyphs.map(({ outlines }) => outlines.length));
  return new Bytes().u32(0x0001_0000).u16(glyphs.length + 1, points, outlines, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0);
}

/** "OS/2", version 4. */
function system({ advance, ascent, descent }: FontMetrics, glyphs: readonly Glyph[]): Bytes {
  const [first = 0, last = 0] = [glyphs[0]?.codePoint, glyphs.at(-1)?.codePoint];
  return new Bytes()
    .u16(4, advance, 400, 5, 0)
    .u16(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    .u16(0, 0, 0, 0, 0)
    .u32(0, PRIVATE_USE, 0, 0)
    .u32(0)
    .u16(REGULAR, first, last, ascent, -descent, 0, ascent, descent)
    .u32(0, 0)
    .u16(0, 0, 0, 0, 0);
}

/** "name": family, style, whole name and the one for PostScript. */
function names(name: string): Bytes {
  const texts: [number, string][] = [[1, name], [2, "Regular"], [4, name], [6, name.replaceAll(" ", "-")]];
  const table = new Bytes().u16(0, texts.length, 6 + texts.length * 12);
  const strings = new Bytes();
  for (const [id, text] of texts) {
    table.u16(3, 1, 0x409, id, text.length * 2, strings.length);
    strings.u16(...[...text].map((character) => character.charCodeAt(0)));
  }
  return table.bytes(strings);
}

/** The directory, and the tables behind it. */
function assembled(tables: readonly [string, Bytes][]): ArrayBuffer {
  const power = 2 ** Math.floor(Math.log2(tables.length));
  const file = new Bytes().u32(0x0001_0000).u16(tables.length, power * 16, Math.log2(power), (tables.length - power) * 16);
  let at = 12 + tables.length * 16;
  let headAt = 0;
  for (const [tag, table] of tables) {
    const { length } = table;
    if (tag === "head") headAt = at;
    file.all.push(...[...tag].map((letter) => letter.charCodeAt(0)));
    file.u32(sumOf(table.padded()), at, length);
    at += table.length;
  }
  for (const [, table] of tables) file.bytes(table);
  const whole = Uint8Array.from(file.all);
  new DataView(whole.buffer).setUint32(headAt + ADJUSTMENT_AT, (WHOLE_SUM - sumOf(file)) >>> 0);
  return whole.buffer;
}

/** The sum of a table's 32-bit words. */
function sumOf({ all }: Bytes): number {
  let sum = 0;
  for (let at = 0; at < all.length; at += 4) {
    sum = (sum + (((all[at] ?? 0) << 24) | ((all[at + 1] ?? 0) << 16) | ((all[at + 2] ?? 0) << 8) | (all[at + 3] ?? 0))) >>> 0;
  }
  return sum;
}

const LONG_LOCATIONS = 1;
/** The bit of a regular face in `fsSelection`. */
const REGULAR = 1 << 6;
/** The bit of the private use area, the 60th, in the second word of `ulUnicodeRange`. */
const PRIVATE_USE = 1 << 28;
/** Where "head" keeps what makes the sum of the whole file this. */
const ADJUSTMENT_AT = 8;
const WHOLE_SUM = 0xb1b0_afba;
