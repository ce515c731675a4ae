/** A cell of a widget's buffer: a column, and a row from the buffer's first line. */
export interface Cell {
  column: number;
  row: number;
}

/** Cells from one to another, both with them, in reading order. */
export interface Span {
  from: Cell;
  to: Cell;
}

/** The columns of the word at a column of a row, whose cells are given one by one; blanks make a span of their own. */
export function wordAt(cells: readonly string[], column: number): { first: number; last: number } {
  const kind = kindOf(cells[column]);
  let first = column;
  let last = column;
  while (first > 0 && kindOf(cells[first - 1]) === kind) first -= 1;
  while (last < cells.length - 1 && kindOf(cells[last + 1]) === kind) last += 1;
  return { first, last };
}

/** A span that holds the other one and a cell. */
export function extended(span: Span, cell: Cell): Span {
  if (isBefore(cell, span.from)) return { from: cell, to: span.to };
  return isBefore(span.to, cell) ? { from: span.from, to: cell } : span;
}

/** A span some rows further down. */
export function shifted({ from, to }: Span, down: number): Span {
  return { from: { ...from, row: from.row + down }, to: { ...to, row: to.row + down } };
}

/** How many cells a span has in a widget of a width. */
export function lengthOf({ from, to }: Span, columns: number): number {
  return (to.row - from.row) * columns + to.column - from.column + 1;
}

function isBefore(one: Cell, other: Cell): boolean {
  return one.row < other.row || (one.row === other.row && one.column < other.column);
}

/** Paths and addresses are one word, so that one touch takes them whole; the second cell of a wide sign is empty. */
function kindOf(character = " "): "blank" | "word" | "other" {
  if (character === "") return "word";
  if (character.trim() === "") return "blank";
  return /[\p{L}\p{N}\p{M}\p{Extended_Pictographic}_\-./~:@%+#?&=,$]/u.test(character) ? "word" : "other";
}
