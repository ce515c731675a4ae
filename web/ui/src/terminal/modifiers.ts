import { isCharacter, type Press } from "./keys";

/** A modifier of the key bar: off, for the next key, or until tapped again. */
export type Stickiness = "off" | "once" | "locked";

/** The key bar's modifiers. */
export interface Modifiers {
  ctrl: Stickiness;
  alt: Stickiness;
}

/** No modifier. */
export const NO_MODIFIERS: Modifiers = { ctrl: "off", alt: "off" };

/** What a tap makes of a modifier: for one key, then locked, then off. */
export function tapped(stickiness: Stickiness): Stickiness {
  return stickiness === "off" ? "once" : stickiness === "once" ? "locked" : "off";
}

/** The modifiers after a key was sent; the same object where the key lets go of none, so that no key draws the bar anew. */
export function released(modifiers: Modifiers): Modifiers {
  const { ctrl, alt } = modifiers;
  if (ctrl !== "once" && alt !== "once") return modifiers;
  return { ctrl: ctrl === "once" ? "off" : ctrl, alt: alt === "once" ? "off" : alt };
}

/** Whether any is on. */
export function isModifying({ ctrl, alt }: Modifiers): boolean {
  return ctrl !== "off" || alt !== "off";
}

/** A press of a key by its name, without modifiers. */
export function named(key: string): Press {
  return { key, code: "", shift: false, alt: false, ctrl: false, meta: false, altGraph: false, kind: "press" };
}

/** A press under the modifiers as well. */
export function under(press: Press, { ctrl, alt }: Modifiers): Press {
  return { ...press, ctrl: press.ctrl || ctrl !== "off", alt: press.alt || alt !== "off" };
}

/** The press that typed text is under the modifiers; null for text that stays as it is: several characters (a word), or no modifier. */
export function pressOf(text: string, modifiers: Modifiers): Press | null {
  return isModifying(modifiers) && isCharacter({ key: text }) ? under(named(text), modifiers) : null;
}
