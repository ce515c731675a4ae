import type { Line } from "../protocol";
import { width } from "./widths";

/**
 * The bytes that draw lines into an empty terminal of their width, one row each, while nothing is shown until the end
 * (synchronized output), without a cursor.
 */
export function drawLines(lines: readonly Line[], columns: number): string {
  const rows = lines.map((line, at) => line.ansi + (at === lines.length - 1 || flowsOn(line, columns) ? "" : "\r\n"));
  return `${BEGIN}${rows.join("")}${END}`;
}

/** A full line that is continued breaks by itself, and then is copied as one line with the next. */
function flowsOn({ wrapped, text }: Line, columns: number): boolean {
  return wrapped && [...text].reduce((sum, character) => sum + width(character.codePointAt(0) ?? 0), 0) === columns;
}

/** Hold the picture, hide the cursor, erase the screen and what scrolled off it. */
const BEGIN = "\x1b[?2026h\x1b[?25l\x1b[2J\x1b[3J\x1b[H";
const END = "\x1b[?2026l";
