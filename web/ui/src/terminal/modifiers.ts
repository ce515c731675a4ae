/** A modifier of the key bar: off, for the next key, or until tapped again. */
export type Stickiness = "off" | "once" | "locked";

/** The key bar's modifiers. */
export interface Modifiers {
  ctrl: Stickiness;
  alt: Stickiness;
}

/** A key of the key bar that sends something. */
export type BarKey = "escape" | "tab" | "left" | "down" | "up" | "right";

/** No modifier. */
export const NO_MODIFIERS: Modifiers = { ctrl: "off", alt: "off" };

/** What a tap makes of a modifier: for one key, then locked, then off. */
export function tapped(stickiness: Stickiness): Stickiness {
  return stickiness === "off" ? "once" : stickiness === "once" ? "locked" : "off";
}

/** The modifiers after a key was sent. */
export function released({ ctrl, alt }: Modifiers): Modifiers {
  return { ctrl: ctrl === "once" ? "off" : ctrl, alt: alt === "once" ? "off" : alt };
}

/** What a key of the bar sends; arrows depend on the program's cursor-key mode (DECCKM). */
export function barKey(key: BarKey, modifiers: Modifiers, applicationCursor: boolean): string {
  if (key === "escape") return withAlt("\x1b", modifiers);
  if (key === "tab") return withAlt("\t", modifiers);
  const final = ARROWS[key];
  const code = 1 + (modifiers.alt === "off" ? 0 : 2) + (modifiers.ctrl === "off" ? 0 : 4);
  if (code > 1) return `\x1b[1;${code}${final}`;
  return applicationCursor ? `\x1bO${final}` : `\x1b[${final}`;
}

/** What typed text becomes under the modifiers; text of several characters (paste, a word of an IME) stays as it is. */
export function modified(text: string, modifiers: Modifiers): string {
  if ([...text].length !== 1) return text;
  const character = modifiers.ctrl === "off" ? text : control(text);
  return withAlt(character, modifiers);
}

/** The control character of a key (ECMA-48: columns 4 and 5 of the code table, taken to column 0). */
function control(character: string): string {
  if (character === " " || character === "2") return "\0";
  if (character === "?") return "\x7f";
  if (character === "/") return "\x1f";
  const code = character.toUpperCase().charCodeAt(0);
  return code >= 0x40 && code <= 0x5f ? String.fromCharCode(code & 0x1f) : character;
}

function withAlt(text: string, { alt }: Modifiers): string {
  return alt === "off" ? text : `\x1b${text}`;
}

const ARROWS = { left: "D", down: "B", up: "A", right: "C" } as const;
