/** A key that makes no character, or not only one. */
export interface FunctionKey {
  /** Its number before `~` or `u`. */
  number: number;
  /** The letter or tilde of its sequence; none where its own form is `CSI number u`. */
  final?: string;
  /** Whether its plain form is SS3 (F1 to F4). */
  isSs3?: boolean;
  /** Whether DECCKM makes its plain form SS3. */
  isCursor?: boolean;
  /** What it sends as text. */
  text?: string;
  /** Whether it is a modifier itself. */
  isModifier?: boolean;
}

/** A key by its name; on the keypad, the keys that are not digits are those of the same name. */
export function functionKey({ key, code }: { key: string; code: string }): FunctionKey | null {
  if (key in MODIFIERS) return { number: (MODIFIERS[key] ?? 0) + (code.endsWith("Right") ? RIGHT : 0), isModifier: true };
  return KEYS[key] ?? null;
}

const cursor = (final: string): FunctionKey => ({ number: 1, final, isCursor: true });
const tilde = (number: number): FunctionKey => ({ number, final: "~" });
const ss3 = (final: string): FunctionKey => ({ number: 1, final, isSs3: true });

/** xterm's `ctlseqs`, "PC-Style Function Keys", and the table of kitty's keyboard protocol. */
const KEYS: Record<string, FunctionKey> = {
  Escape: { number: 27, text: "\x1b" },
  Enter: { number: 13, text: "\r" },
  Tab: { number: 9, text: "\t" },
  Backspace: { number: 127, text: "\x7f" },
  ArrowUp: cursor("A"),
  ArrowDown: cursor("B"),
  ArrowRight: cursor("C"),
  ArrowLeft: cursor("D"),
  Home: cursor("H"),
  End: cursor("F"),
  Insert: tilde(2),
  Delete: tilde(3),
  PageUp: tilde(5),
  PageDown: tilde(6),
  F1: ss3("P"),
  F2: ss3("Q"),
  F3: ss3("R"),
  F4: ss3("S"),
  F5: tilde(15),
  F6: tilde(17),
  F7: tilde(18),
  F8: tilde(19),
  F9: tilde(20),
  F10: tilde(21),
  F11: tilde(23),
  F12: tilde(24),
};

/** Numbers of the left ones, in kitty's table. */
const MODIFIERS: Record<string, number> = { Shift: 57441, Control: 57442, Alt: 57443, Meta: 57444 };
const RIGHT = 6;
