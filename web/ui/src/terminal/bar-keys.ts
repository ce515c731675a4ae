import { signal } from "@preact/signals";
import { strings } from "../strings";
import type { Press } from "./keys";
import { named } from "./modifiers";

/** A key that the bar may have. */
export interface BarKey {
  /** Kept in the browser's storage, so it stays what it is. */
  id: string;
  /** What stands on it. */
  label: string;
  /** What a screen reader says. */
  name: string;
  /** A press that it sends, a modifier that it is, or the clipboard that it pastes. */
  does: { press: Press } | { modifier: "ctrl" | "alt" } | "paste";
  /** The arrow on it, turned from up by this many degrees. */
  turn?: number;
}

/** The keys of the bar in their order, as this browser's person wants them. */
export const barKeys = signal<readonly BarKey[]>([]);

/** Takes keys by their ids, and keeps that for the next time; those that nobody knows any more are left out. */
export function chooseKeys(ids: readonly string[]): void {
  barKeys.value = keysOf(ids);
  localStorage.setItem(STORED, JSON.stringify(barKeys.value.map(({ id }) => id)));
}

/** The bar's keys as they were chosen last. */
export function recallKeys(): void {
  barKeys.value = keysOf(parsed(localStorage.getItem(STORED)));
}

/** The keys with these ids, each once; the usual ones where none is left. */
export function keysOf(ids: readonly unknown[]): readonly BarKey[] {
  const known = [...new Set(ids)].flatMap((id) => ALL_KEYS.filter((key) => key.id === id)).slice(0, MOST_KEYS);
  return known.length > 0 ? known : keysOf(USUAL);
}

/** What storage holds, as ids; it may be anything. */
export function parsed(stored: string | null): readonly unknown[] {
  try {
    const ids: unknown = JSON.parse(stored ?? "[]");
    return Array.isArray(ids) ? ids : [];
  } catch {
    return [];
  }
}

const { terminal: words } = strings;

const plain = (id: string, label: string, name = label, turn?: number): BarKey => ({
  id,
  label,
  name,
  does: { press: named(id) },
  ...(turn === undefined ? {} : { turn }),
});
const withCtrl = (letter: string): BarKey => ({
  id: `ctrl-${letter}`,
  label: `^${letter.toUpperCase()}`,
  name: `${words.ctrl} ${letter.toUpperCase()}`,
  does: { press: { ...named(letter), ctrl: true } },
});

/** Every key that the bar may have. */
export const ALL_KEYS: readonly BarKey[] = [
  plain("Escape", words.escape),
  plain("Tab", words.tab),
  { id: "shift-tab", label: words.backTab, name: words.shiftTab, does: { press: { ...named("Tab"), shift: true } } },
  { id: "ctrl", label: words.ctrl, name: words.ctrl, does: { modifier: "ctrl" } },
  { id: "alt", label: words.alt, name: words.alt, does: { modifier: "alt" } },
  plain("ArrowLeft", "←", words.arrows.left, -90),
  plain("ArrowDown", "↓", words.arrows.down, 180),
  plain("ArrowUp", "↑", words.arrows.up, 0),
  plain("ArrowRight", "→", words.arrows.right, 90),
  { id: "paste", label: words.paste, name: words.paste, does: "paste" },
  plain("Enter", "⏎", words.enter),
  plain("Home", words.home),
  plain("End", words.end),
  plain("PageUp", words.pageUp[0], words.pageUp[1]),
  plain("PageDown", words.pageDown[0], words.pageDown[1]),
  plain("Delete", words.del[0], words.del[1]),
  plain("Insert", words.insert[0], words.insert[1]),
  ...["c", "d", "z", "l", "r"].map(withCtrl),
  ...["|", "/", "-", "_", "~", "`", "\\", "*", "&", "$", "<", ">"].map((sign) => plain(sign, sign)),
  ...Array.from({ length: 12 }, (_, at) => plain(`F${at + 1}`, `F${at + 1}`)),
];

const USUAL = ["Escape", "Tab", "ctrl", "alt", "ArrowLeft", "ArrowDown", "ArrowUp", "ArrowRight"];
/** Two rows: more would leave too little of a small phone's screen while the keyboard is open. */
export const MOST_KEYS = 16;
const STORED = "transom.keys";
