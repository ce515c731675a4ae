import { isCharacter, type Press } from "./keys";
import { width } from "./widths";

/** What happens at the text field, in the words of UI Events and Input Events Level 2. */
export type FieldEvent =
  /** `isForInputMethod`: the program gets nothing of it. */
  | { type: "keydown"; press: Press; isForInputMethod: boolean }
  | { type: "keyup"; press: Press }
  /** `value`: what the field holds before the edit. */
  | { type: "beforeinput"; inputType: string; value: string; isComposing: boolean }
  /** `value`: what the field holds now. */
  | { type: "input"; value: string; isComposing: boolean }
  | { type: "compositionend"; value: string }
  | { type: "blur" };

/** Something for the program. */
export type Send =
  | { kind: "text"; text: string }
  /** Text of several lines, which a program is to tell from typing. */
  | { kind: "paste"; text: string }
  | { kind: "key"; press: Press };

/** What follows from an event. */
export interface Outcome {
  sends: Send[];
  /** Whether the browser shall do nothing itself. */
  isTaken: boolean;
  /** What the field is to hold; null where it keeps what it has. */
  value: string | null;
}

/** What the typist asks of the rest. */
export interface Surroundings {
  /** Whether keys that make characters are taken as keys, and not left to the field and its input methods. */
  takesCharacters(): boolean;
  /** Whether a key has anything to send. */
  sends(press: Press): boolean;
  /** Whether text that is still being composed is wanted letter by letter. */
  wantsAtOnce(pending: string): boolean;
}

/**
 * Makes of a text field's edits what a person would have typed. The field holds what was typed last, so that
 * suggestions, autocorrect and dictation find what they replace; what they replace is erased by backspaces. Text that
 * is being composed is sent when it is committed, once: what is sent is the difference to what was sent before, however
 * many events tell of it, and in whatever order.
 */
export class Typist {
  /** Text that is being composed, and not sent yet. */
  pending = "";
  private sent = "";
  private pads = PADS;
  private readonly pressed = new Set<string>();

  constructor(private readonly surroundings: Surroundings) {}

  /** What the field holds. */
  get value(): string {
    return PAD.repeat(this.pads) + this.sent + this.pending;
  }

  /** Takes an event. */
  take(event: FieldEvent): Outcome {
    switch (event.type) {
      case "keydown":
        return this.keyDown(event.press, event.isForInputMethod);
      case "keyup":
        return this.keyUp(event.press);
      case "beforeinput":
        return this.beforeInput(event.inputType, event.value, event.isComposing);
      case "input":
        return this.edited(event.value, event.isComposing);
      case "compositionend":
        return this.edited(event.value, false);
      case "blur":
        return this.startOver(this.commit());
    }
  }

  /** Something else is about to be sent, or the cursor to go elsewhere: what was composed goes first. */
  flush(): Outcome {
    return this.startOver(this.commit());
  }

  private keyDown(press: Press, isForInputMethod: boolean): Outcome {
    if (isForInputMethod || this.isForField(press) || !this.surroundings.sends(press)) return NOTHING;
    this.pressed.add(press.code);
    return this.startOver([...this.commit(), { kind: "key", press }], true);
  }

  private keyUp(press: Press): Outcome {
    if (!this.pressed.delete(press.code) || !this.surroundings.sends(press)) return NOTHING;
    return { sends: [{ kind: "key", press }], isTaken: true, value: null };
  }

  private isForField(press: Press): boolean {
    if (this.surroundings.takesCharacters()) return false;
    const isPlain = press.altGraph || !(press.ctrl || press.alt || press.meta);
    return isPlain && (isCharacter(press) || press.key === "Backspace");
  }

  private beforeInput(inputType: string, value: string, isComposing: boolean): Outcome {
    if (inputType === "insertLineBreak" || inputType === "insertParagraph") {
      return this.startOver([...this.commit(), { kind: "key", press: ENTER }], true);
    }
    if (UNWANTED.has(inputType)) return { ...NOTHING, isTaken: true };
    // The widget puts a selection into the field for the system's menus; an edit is of what was typed.
    return !isComposing && value !== this.value ? { ...NOTHING, value: this.value } : NOTHING;
  }

  private edited(value: string, isComposing: boolean): Outcome {
    const { body, hasErasedPad } = this.withoutPads(value);
    const kept = commonStart(this.sent, body);
    const erased = eraseable(this.sent.slice(kept.length)) + (hasErasedPad ? 1 : 0);
    const sends: Send[] = Array.from({ length: erased }, () => ({ kind: "key", press: BACKSPACE }));
    const added = body.slice(kept.length);
    if (isComposing && !(added !== "" && this.surroundings.wantsAtOnce(added))) {
      this.sent = kept;
      this.pending = added;
      return { sends, isTaken: false, value: null };
    }
    this.sent = body;
    this.pending = "";
    sends.push(...typed(added));
    const isOver = isComposing || added.includes("\n") || body.length > LONGEST;
    if (isOver) return this.startOver(sends);
    if (this.pads >= PADS / 2) return { sends, isTaken: false, value: null };
    this.pads = PADS;
    return { sends, isTaken: false, value: this.value };
  }

  /** What was composed, as text. */
  private commit(): Send[] {
    const sends = typed(this.pending);
    this.sent += this.pending;
    this.pending = "";
    return sends;
  }

  private startOver(sends: Send[], isTaken = false): Outcome {
    this.sent = "";
    this.pads = PADS;
    return { sends, isTaken, value: this.value };
  }

  private withoutPads(value: string): { body: string; hasErasedPad: boolean } {
    let pads = 0;
    while (pads < this.pads && value[pads] === PAD) pads += 1;
    const hasErasedPad = pads < this.pads;
    this.pads = pads;
    return { body: value.slice(pads), hasErasedPad };
  }
}

/** Text as a person would type it: a line end that stands last is Enter. */
function typed(text: string): Send[] {
  if (text === "") return [];
  const line = text.replace(/\r?\n$/, "");
  if (line.includes("\n")) return [{ kind: "paste", text }];
  const sends: Send[] = line === "" ? [] : [{ kind: "text", text: line }];
  return line === text ? sends : [...sends, { kind: "key", press: ENTER }];
}

/** What two texts begin with, in whole code points. */
function commonStart(one: string, other: string): string {
  let length = 0;
  for (const character of one) {
    if (!other.startsWith(character, length)) break;
    length += character.length;
  }
  return one.slice(0, length);
}

/** Backspaces that erase a text in a line editor: signs without a cell of their own go with the one before them. */
function eraseable(text: string): number {
  return [...text].filter((character) => width(character.codePointAt(0) ?? 0) > 0).length;
}

const plain = (key: string): Press => ({ key, code: "", shift: false, alt: false, ctrl: false, meta: false, altGraph: false, kind: "press" });
const ENTER = plain("Enter");
const BACKSPACE = plain("Backspace");
const NOTHING: Outcome = { sends: [], isTaken: false, value: null };

/** Undo and dropped text have no meaning at a terminal; pasted text comes by its own event. */
const UNWANTED = new Set(["historyUndo", "historyRedo", "insertFromDrop", "insertFromPaste", "insertFromYank"]);

/** Zero width space: before the text there is always something for a held backspace to erase. */
const PAD = "\u200b";
const PADS = 16;
/** UTF-16 units: more than keyboards look back at. */
const LONGEST = 200;
