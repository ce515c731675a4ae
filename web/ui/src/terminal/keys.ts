import { functionKey, type FunctionKey } from "./function-keys";

/** One press of a key, as the browser tells it. */
export interface Press {
  /** What the key means in the person's layout: a character, or a name as "ArrowUp". */
  key: string;
  /** Where the key is, as "KeyA"; empty where nobody knows. */
  code: string;
  shift: boolean;
  alt: boolean;
  ctrl: boolean;
  /** Command on a Mac, the Windows key elsewhere. */
  meta: boolean;
  /** Whether the layout's third level made the character, so that Ctrl and Alt are no modifiers. */
  altGraph: boolean;
  kind: "press" | "repeat" | "release";
}

/** In which form the program wants keys. */
export interface KeyModes {
  /** Cursor keys as SS3 sequences (DECCKM). */
  applicationCursor: boolean;
  /** The flags of kitty's keyboard protocol; 0 where the program has not asked for it. */
  kitty: number;
  /** xterm's `modifyOtherKeys`. */
  otherKeys: 0 | 1 | 2;
}

/**
 * What a key sends: as the program asked for it (kitty's keyboard protocol, or xterm's `modifyOtherKeys`), else as
 * xterm's `ctlseqs` has it. Null where the terminal has nothing to send, and the browser may have the key.
 */
export function encoded(press: Press, modes: KeyModes): string | null {
  if (press.altGraph && isCharacter(press)) press = { ...press, ctrl: false, alt: false };
  if (modes.kitty > 0) return inKittysForm(press, modes);
  if (press.kind === "release" || press.meta) return null;
  return inOtherKeysForm(press, modes.otherKeys) ?? inLegacyForm(press, modes);
}

/** Whether a key makes a character by itself. */
export function isCharacter({ key }: { key: string }): boolean {
  return [...key].length === 1;
}

/** The control character of a key (ECMA-48: columns 4 and 5 of the code table, taken to column 0); null where it has none. */
export function control(character: string): string | null {
  const special = CONTROLS[character];
  if (special !== undefined) return special;
  const code = character.toUpperCase().charCodeAt(0);
  return code >= 0x40 && code <= 0x5f && character.length === 1 ? String.fromCharCode(code & 0x1f) : null;
}

function inLegacyForm(press: Press, { applicationCursor }: KeyModes): string | null {
  const known = functionKey(press);
  if (known?.isModifier) return null;
  if (known) return legacyFunctionKey(known, press, applicationCursor);
  if (!isCharacter(press)) return null;
  const plain = press.ctrl || press.alt ? latin(press) : press.key;
  const text = press.ctrl ? control(plain) : plain;
  if (text === null) return null;
  return press.alt ? `\x1b${text}` : text;
}

function legacyFunctionKey(known: FunctionKey, press: Press, applicationCursor: boolean): string {
  if (known.text !== undefined) {
    if (press.key === "Tab" && press.shift) return "\x1b[Z";
    const text = press.key === "Backspace" && press.ctrl ? "\b" : known.text;
    return press.alt ? `\x1b${text}` : text;
  }
  const modifiers = modifiersOf(press);
  if (known.final === "~") return `\x1b[${known.number}${modifiers > 1 ? `;${modifiers}` : ""}~`;
  if (modifiers > 1) return `\x1b[1;${modifiers}${known.final}`;
  return known.isSs3 || (known.isCursor && applicationCursor) ? `\x1bO${known.final}` : `\x1b[${known.final}`;
}

/** `CSI 27 ; modifiers ; code ~`, for keys whose legacy form would lose a modifier. */
function inOtherKeysForm(press: Press, level: 0 | 1 | 2): string | null {
  if (level === 0) return null;
  const modifiers = modifiersOf(press);
  const known = functionKey(press);
  if (modifiers === 1 || (known && known.text === undefined)) return null;
  const isShiftOnly = modifiers === 2;
  if (!known) {
    if (!isCharacter(press) || isShiftOnly) return null;
    if (level === 1 && (!press.ctrl || control(latin(press)) !== null)) return null;
  } else if (level === 1 && (press.key === "Escape" || press.key === "Backspace" || (press.key === "Tab" && !press.ctrl))) return null;
  const code = known ? known.number : (press.ctrl || press.alt ? latin(press) : press.key).codePointAt(0);
  return `\x1b[27;${modifiers};${code}~`;
}

/** https://sw.kovidgoyal.net/kitty/keyboard-protocol/ */
function inKittysForm(press: Press, modes: KeyModes): string | null {
  const wants = (flag: number): boolean => (modes.kitty & flag) !== 0;
  if (press.kind === "release" && !wants(KITTY.events)) return null;
  const known = functionKey(press);
  if (known?.isModifier && !wants(KITTY.all)) return null;
  const modifiers = modifiersOf(press);
  if (known) {
    const isText = known.text !== undefined && press.key !== "Escape";
    if (isText && press.kind === "release" && !wants(KITTY.all)) return null;
    if (isText && modifiers === 1 && !wants(KITTY.all)) return known.text ?? null;
    if (!wants(KITTY.disambiguate) && !wants(KITTY.all) && modifiers === 1 && press.kind === "press") return legacyFunctionKey(known, press, modes.applicationCursor);
    // F3's letter would make it a report of the cursor's place.
    const { number, final = "u" } = known.final === "R" ? F3 : known;
    return kittySequence({ number: String(number), final, modifiers, press, withEvents: wants(KITTY.events), text: "" });
  }
  if (!isCharacter(press)) return null;
  const makesText = modifiers <= 2;
  if (makesText && !wants(KITTY.all) && press.kind !== "release") return press.key;
  if (!wants(KITTY.disambiguate) && !wants(KITTY.all) && press.kind !== "release") return inLegacyForm(press, modes);
  const number = keyNumber(press, wants(KITTY.alternates));
  const text = makesText && press.kind !== "release" && wants(KITTY.all) && wants(KITTY.text) ? String(press.key.codePointAt(0)) : "";
  return kittySequence({ number, final: "u", modifiers, press, withEvents: wants(KITTY.events), text });
}

function kittySequence(parts: { number: string; final: string; modifiers: number; press: Press; withEvents: boolean; text: string }): string {
  const { number, final, modifiers, press, withEvents, text } = parts;
  const event = withEvents ? EVENTS[press.kind] : "";
  const second = modifiers > 1 || event !== "" ? `${modifiers}${event}` : "";
  const third = text === "" ? "" : `;${text}`;
  const rest = second === "" && third === "" ? "" : `;${second}${third}`;
  // The number of a key that has a letter of its own is 1, and left out where nothing follows it.
  const first = final === "u" || final === "~" ? number : rest === "" ? "" : "1";
  return `\x1b[${first}${rest}${final}`;
}

/** The key's code, without Shift; with what Shift and another layout make of it where the program asks. */
function keyNumber(press: Press, withAlternates: boolean): string {
  const base = positionOf(press);
  const own = press.key.toLowerCase();
  const plain = press.shift && base !== null && !isLetter(press.key) ? base : own;
  const code = plain.codePointAt(0) ?? 0;
  if (!withAlternates) return String(code);
  const shifted = press.shift && press.key !== plain ? String(press.key.codePointAt(0)) : "";
  const other = base !== null && base !== plain ? `:${base.codePointAt(0)}` : "";
  return `${code}${shifted !== "" || other !== "" ? `:${shifted}` : ""}${other}`;
}

/** What Ctrl and Alt act on: the character, or what the key has in a Latin layout where the character is not ASCII. */
function latin(press: Press): string {
  if (press.key.charCodeAt(0) < 0x80) return press.key;
  const base = positionOf(press);
  if (base === null) return press.key;
  return press.shift ? base.toUpperCase() : base;
}

/** The character of a key's place in the US layout; null where it has none. */
function positionOf({ code }: Press): string | null {
  const letter = /^(?:Key|Digit)(.)$/.exec(code)?.[1];
  return letter?.toLowerCase() ?? PLACES[code] ?? null;
}

function isLetter(key: string): boolean {
  return key.toLowerCase() !== key.toUpperCase();
}

function modifiersOf({ shift, alt, ctrl, meta }: Press): number {
  return 1 + (shift ? 1 : 0) + (alt ? 2 : 0) + (ctrl ? 4 : 0) + (meta ? 8 : 0);
}

/** The protocol's flags. */
export const KITTY = { disambiguate: 1, events: 2, alternates: 4, all: 8, text: 16 } as const;

const F3 = { number: 13, final: "~" };

const EVENTS = { press: "", repeat: ":2", release: ":3" } as const;

/** Beside the columns 4 and 5: what terminals have sent for these since the VT220. */
const CONTROLS: Record<string, string> = {
  " ": "\0",
  "2": "\0",
  "3": "\x1b",
  "4": "\x1c",
  "5": "\x1d",
  "6": "\x1e",
  "7": "\x1f",
  "8": "\x7f",
  "/": "\x1f",
  "?": "\x7f",
  "`": "\0",
  "~": "\x1e",
};

const PLACES: Record<string, string> = {
  Minus: "-",
  Equal: "=",
  BracketLeft: "[",
  BracketRight: "]",
  Backslash: "\\",
  Semicolon: ";",
  Quote: "'",
  Backquote: "`",
  Comma: ",",
  Period: ".",
  Slash: "/",
  Space: " ",
};
