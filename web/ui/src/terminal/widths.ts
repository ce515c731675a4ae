import type { IUnicodeVersionProvider } from "@xterm/xterm";
import { NO_CELL, TWO_CELLS } from "./width-table";

/**
 * The daemon's rule for widths, one code point at a time. Grapheme clusters would put the cursor where the program,
 * and the daemon's screen, do not have it.
 */
export const daemonWidths: IUnicodeVersionProvider = {
  version: "daemon",
  wcwidth: (codePoint) => width(codePoint),
  charProperties: (codePoint, preceding) => properties(width(codePoint), preceding),
};

/** Cells that a code point takes. */
export function width(codePoint: number): 0 | 1 | 2 {
  if (codePoint < FIRST_SPECIAL) return codePoint === SOFT_HYPHEN ? 0 : 1;
  if (holds(noCell, codePoint)) return 0;
  return holds(twoCells, codePoint) ? 2 : 1;
}

/** The widget's own packing: bit 0 joins the cell before, bits 1 and 2 are the width. */
function properties(width: number, preceding: number): number {
  const before = (preceding >> 1) & 3;
  const joins = width === 0 && before !== 0;
  return ((joins ? before : width) << 1) | (joins ? 1 : 0);
}

/** Whether a code point lies in one of the runs, whose starts and ends alternate. */
function holds(edges: Uint32Array, codePoint: number): boolean {
  let low = 0;
  let high = edges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((edges[middle] ?? 0) <= codePoint) low = middle + 1;
    else high = middle;
  }
  return low % 2 === 1;
}

/** Distances become edges. */
function edgesOf(table: string): Uint32Array {
  let edge = 0;
  return Uint32Array.from(table.split(" "), (distance) => (edge += Number.parseInt(distance, 36)));
}

const noCell = edgesOf(NO_CELL);
const twoCells = edgesOf(TWO_CELLS);
const SOFT_HYPHEN = 0xad;
/** Below it, only the soft hyphen is not one cell wide. */
const FIRST_SPECIAL = 0x300;
