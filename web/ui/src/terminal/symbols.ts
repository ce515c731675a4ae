import { fontFile, type Glyph, type Point } from "./font-file";

/** A cell of a font, in its em. */
export interface CellShape {
  width: number;
  ascent: number;
  descent: number;
}

/**
 * Makes the font that the style sheet names before the system's, for the signs of prompts and status lines (Powerline's).
 * Hardly any system has these, and a sign is to fill its cell, whose shape the system's font decides: so they are drawn here
 * to its measure, and nothing is loaded for them.
 */
export function provideSymbols(families: string): void {
  const cell = cellOf(families);
  const file = fontFile(NAME, metricsOf(cell), symbolsOf(cell));
  // Two faces, so that no browser leans one over or makes it fatter by itself.
  for (const style of ["normal", "italic"]) document.fonts.add(new FontFace(NAME, file, { style, weight: "100 900", unicodeRange: RANGE }));
}

/** A cell at a font size of one pixel, as the widget measures it: the letter W, ascent and descent of the font. */
export function cellOf(families: string): CellShape {
  const context = document.createElement("canvas").getContext("2d");
  if (!context) return USUAL;
  context.font = `100px ${families}`;
  const { width, fontBoundingBoxAscent, fontBoundingBoxDescent } = context.measureText("W");
  return { width: width / 100, ascent: fontBoundingBoxAscent / 100, descent: fontBoundingBoxDescent / 100 };
}

/** The signs for cells of a shape, in font units. */
export function symbolsOf({ width, ascent, descent }: CellShape): Glyph[] {
  const cell: Cell = { right: units(width), top: units(ascent) + OVER, bottom: -units(descent) - OVER };
  const flipped = (outlines: Outlines): Outlines => outlines.map((outline) => outline.map(([x, y, isOn]) => [cell.right - x, y, isOn]));
  const of = (first: number, ...shapes: Outlines[]): Glyph[] => shapes.map((outlines, at) => ({ codePoint: first + at, outlines: rounded(outlines) }));
  return [
    ...of(0xe0a0, branch(cell), lineNumber(cell), padlock(cell)),
    ...of(0xe0b0, wedge(cell), chevron(cell), flipped(wedge(cell)), flipped(chevron(cell))),
    ...of(0xe0b4, half(cell), arc(cell), flipped(half(cell)), flipped(arc(cell))),
  ];
}

type Outlines = readonly (readonly Point[])[];

/** In font units; the left edge is 0, and the baseline, too. */
interface Cell {
  right: number;
  top: number;
  bottom: number;
}

function metricsOf({ width, ascent, descent }: CellShape): { unitsPerEm: number; advance: number; ascent: number; descent: number } {
  return { unitsPerEm: EM, advance: units(width), ascent: units(ascent), descent: units(descent) };
}

/** A triangle on the cell's left edge, and a little beyond it: the cell before has its colour, and no seam is to show. */
function wedge({ right, top, bottom }: Cell): Outlines {
  const slope = (top - bottom) / 2 / right;
  return [corners([-OVER, top + OVER * slope], [right, (top + bottom) / 2], [-OVER, bottom - OVER * slope])];
}

/** The outline of the triangle without its upright side. */
function chevron({ right, top, bottom }: Cell): Outlines {
  const middle = (top + bottom) / 2;
  const high = THIN * Math.hypot(1, (top - bottom) / 2 / right);
  const inner = right - (2 * right * high) / (top - bottom);
  return [corners([0, top], [right, middle], [0, bottom], [0, bottom + high], [inner, middle], [0, top - high])];
}

/** Half an ellipse on the cell's left edge, and a little beyond it. */
function half({ right, top, bottom }: Cell): Outlines {
  const [middle, height] = [(top + bottom) / 2, (top - bottom) / 2];
  return [[[-OVER, top, true], ...bow(0, middle, right, height, QUARTER, -QUARTER), [-OVER, bottom, true]]];
}

/** Its curve alone. */
function arc({ right, top, bottom }: Cell): Outlines {
  const [middle, height] = [(top + bottom) / 2, (top - bottom) / 2];
  return [[...bow(0, middle, right, height, QUARTER, -QUARTER), ...bow(0, middle, right - THIN, height - THIN, -QUARTER, QUARTER)]];
}

/** A branch: a trunk, and what leaves it. */
function branch({ right }: Cell): Outlines {
  const [trunk, twig, knob] = [0.24 * right, 0.76 * right, 0.15 * right];
  const [low, high, fork] = [0.02 * EM, 0.66 * EM, 0.2 * EM];
  return [
    disc(trunk, low, knob),
    disc(trunk, high, knob),
    disc(twig, high - knob, knob),
    stroke([trunk, low], [trunk, high]),
    stroke([trunk, fork], [twig, fork + 0.2 * EM]),
    stroke([twig, fork + 0.2 * EM - THIN / 2], [twig, high - knob]),
  ];
}

/** The letters L and N, one below the other. */
function lineNumber({ right }: Cell): Outlines {
  const [left, wide] = [0.12 * right, 0.88 * right];
  const [low, middle, high] = [-0.05 * EM, 0.33 * EM, 0.72 * EM];
  const gap = 0.07 * EM;
  const pen = THIN / 2;
  return [
    stroke([left + pen, middle + gap], [left + pen, high]),
    stroke([left, middle + gap + pen], [wide - right * 0.2, middle + gap + pen]),
    stroke([left + pen, low], [left + pen, middle - gap + pen]),
    stroke([wide - pen, low], [wide - pen, middle - gap + pen]),
    stroke([left + pen, middle - gap + pen], [wide - pen, low]),
  ];
}

/** A body, and a bow above it. */
function padlock({ right }: Cell): Outlines {
  const [left, wide, middle] = [0.08 * right, 0.92 * right, right / 2];
  const [low, waist] = [-0.02 * EM, 0.38 * EM];
  const radius = 0.29 * right;
  const post = 0.1 * EM;
  const shackle: Point[] = [
    [middle + radius, waist, true],
    ...bow(middle, waist + post, radius, radius, 0, 2 * QUARTER),
    [middle - radius, waist, true],
    [middle - radius + THIN, waist, true],
    ...bow(middle, waist + post, radius - THIN, radius - THIN, 2 * QUARTER, 0),
    [middle + radius - THIN, waist, true],
  ];
  return [corners([left, low], [left, waist], [wide, waist], [wide, low]), shackle];
}

function corners(...points: [number, number][]): Point[] {
  return points.map(([x, y]) => [x, y, true]);
}

/** A straight line of the thickness of letters, its ends cut off square. Signs wind one way, so that crossing lines stay filled. */
function stroke([x, y]: [number, number], [toX, toY]: [number, number]): Point[] {
  const length = Math.hypot(toX - x, toY - y);
  const [across, up] = [((toY - y) / length) * (THIN / 2), ((toX - x) / length) * (THIN / 2)];
  return corners([x - across, y + up], [toX - across, toY + up], [toX + across, toY - up], [x + across, y - up]);
}

function disc(x: number, y: number, radius: number): Point[] {
  return bow(x, y, radius, radius, 4 * QUARTER, 0);
}

/** Part of an ellipse around a middle, from an angle to another, in pieces of an eighth of a turn, which quadratics draw well. */
function bow(x: number, y: number, width: number, height: number, from: number, to: number): Point[] {
  const pieces = Math.max(1, Math.round(Math.abs(to - from) / (QUARTER / 2)));
  const step = (to - from) / pieces;
  const at = (angle: number, reach: number, isOn: boolean): Point => [x + width * reach * Math.cos(angle), y + height * reach * Math.sin(angle), isOn];
  const points: Point[] = [at(from, 1, true)];
  for (let piece = 0; piece < pieces; piece += 1) {
    const begun = from + piece * step;
    points.push(at(begun + step / 2, 1 / Math.cos(step / 2), false), at(begun + step, 1, true));
  }
  return points;
}

function rounded(outlines: Outlines): Outlines {
  return outlines.map((outline) => outline.map(([x, y, isOn]) => [Math.round(x), Math.round(y), isOn]));
}

function units(ems: number): number {
  return Math.round(ems * EM);
}

/** As the style sheet has it. */
const NAME = "Transom Symbols";
/** No more than these signs: the space is the system font's, and so are the measures of a line. */
const RANGE = "U+E0A0-E0A2, U+E0B0-E0B7";
/** Font units. */
const EM = 2048;
/** Thickness of a line, in font units. */
const THIN = 0.085 * EM;
/** How far a sign that fills its cell goes beyond it, in font units: rows are rounded up to whole pixels, and cut off what is too much. */
const OVER = 0.06 * EM;
/** Of a turn. */
const QUARTER = Math.PI / 2;
/** Of most fonts for terminals. */
const USUAL: CellShape = { width: 0.602, ascent: 0.93, descent: 0.24 };
