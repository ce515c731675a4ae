import { signal } from "@preact/signals";
import type { Side } from "../ui/tile";

/** What the palette is open for: everything, or a session to show at a side of the tile that has the keys. */
export type Purpose = "all" | Side;

/** What the palette is open for; null while it is shut. */
export const palette = signal<Purpose | null>(null);

/** Whether the list of keys is shown. */
export const isHelpOpen = signal(false);

/** Opens the palette with all that it offers. */
export function openPalette(): void {
  palette.value = "all";
}

/** Opens the palette for a session to show beside the one that has the keys. */
export function askWhere(side: Side): void {
  palette.value = side;
}

/** Shuts the palette. */
export function shutPalette(): void {
  palette.value = null;
}
