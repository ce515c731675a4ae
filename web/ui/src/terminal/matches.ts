import type { Line } from "../protocol";
import { width } from "./widths";
import type { Span } from "./words";

/** Where a text stands in lines, by their numbers: rows of the span are line numbers. */
export type Match = Span;

/**
 * All places of a text in lines, the upper first; capital letters count only where the text has some. What goes on in
 * the next line is one text with it.
 */
export function matchesIn(lines: readonly Line[], text: string): Match[] {
  if (text === "") return [];
  const fold = text === text.toLowerCase() ? folded : (one: string) => one;
  const wanted = fold(text);
  const found: Match[] = [];
  for (let first = 0; first < lines.length; ) {
    let end = first + 1;
    while (end < lines.length && lines[end - 1]?.wrapped) end += 1;
    const part = lines.slice(first, end);
    const whole = fold(part.map((line) => line.text).join(""));
    for (let at = whole.indexOf(wanted); at >= 0; at = whole.indexOf(wanted, at + wanted.length)) {
      found.push({ from: cellAt(part, at), to: cellAt(part, at + wanted.length - 1) });
    }
    first = end;
  }
  return found;
}

/** The place of the match to go to: above a place or below it; from nowhere, the last one. Null where there is none. */
export function stepTo(matches: readonly Match[], from: Match | null, step: "up" | "down"): number | null {
  if (!from) return matches.length > 0 ? matches.length - 1 : null;
  const isAbove = ({ from: one }: Match): boolean => one.row < from.from.row || (one.row === from.from.row && one.column < from.from.column);
  const isBelow = ({ from: one }: Match): boolean => one.row > from.from.row || (one.row === from.from.row && one.column > from.from.column);
  const at = step === "up" ? matches.findLastIndex(isAbove) : matches.findIndex(isBelow);
  return at < 0 ? null : at;
}

/** Letters in lower case, sign by sign, so that places stay what they are. */
function folded(text: string): string {
  return Array.from(text, (sign) => {
    const lower = sign.toLowerCase();
    return lower.length === sign.length ? lower : sign;
  }).join("");
}

/** The cell of a code unit of lines that are one text. */
function cellAt(lines: readonly Line[], unit: number): { column: number; row: number } {
  for (const { number, text } of lines) {
    if (unit < text.length) return { column: cells(text.slice(0, unit)), row: number };
    unit -= text.length;
  }
  return { column: 0, row: lines.at(-1)?.number ?? 0 };
}

function cells(text: string): number {
  return [...text].reduce((sum, sign) => sum + width(sign.codePointAt(0) ?? 0), 0);
}
