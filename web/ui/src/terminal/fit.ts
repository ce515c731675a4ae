import type { Size } from "../protocol";

/** What a font size is chosen from; lengths in CSS pixels. */
export interface Space extends Size {
  width: number;
  height: number;
  /** Width of a cell at a font size of one pixel. */
  cellWidth: number;
  /** Height of a cell at a font size of one pixel. */
  cellHeight: number;
}

/** How a session is looked at: all columns on the screen, or letters of a good size and a view that pans. */
export type View = "whole" | "readable";

/** The font size at which a session is shown; `letters` is the good size. */
export function fontSize(view: View, space: Space, letters = READABLE): number {
  if (view === "readable") return letters;
  const byWidth = space.width / (space.columns * space.cellWidth);
  const byHeight = space.height / (space.rows * space.cellHeight);
  // All rows too, unless that makes the letters small: rows scroll better than letters shrink.
  const wanted = Math.min(byWidth, Math.max(byHeight, COMFORTABLE));
  return Math.max(LEAST, Math.min(MOST, Math.floor(wanted * 4) / 4));
}

/** The font size that a pinch makes of one, in steps that the screen can show. */
export function pinchedSize(size: number, scale: number): number {
  return Math.max(LEAST, Math.min(MOST_PINCHED, Math.round(size * scale * 4) / 4));
}

/** The size of a session that fills a space in letters of a good size. */
export function fittingSize({ width, height, cellWidth, cellHeight }: Omit<Space, keyof Size>, letters = READABLE): Size {
  const cells = (length: number, cell: number): number => Math.max(1, Math.min(MOST_CELLS, Math.floor(length / (cell * letters))));
  return { columns: cells(width, cellWidth), rows: cells(height, cellHeight) };
}

/** Smaller letters cannot be read on a phone: from here on the view pans. */
const LEAST = 5.5;
const COMFORTABLE = 11;
export const READABLE = 13;
const MOST = 17;
const MOST_PINCHED = 32;
/** The daemon's own limit, each way. */
const MOST_CELLS = 1000;
