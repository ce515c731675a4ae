import { isForInputMethod } from "../ui/composing";
import { isCharacter, type Press } from "./keys";
import { Typist, type FieldEvent, type Send, type Surroundings } from "./typist";

/** What a field tells, and asks. */
export interface FieldListener extends Surroundings {
  /** A key that is somebody else's; true where it is dealt with, or the browser's. */
  intercepts(event: KeyboardEvent): boolean;
  /** Something for the program. */
  sent(send: Send): void;
  /** Text that is being composed, to be shown at the cursor. */
  composing(text: string): void;
}

/** Typing at the widget's own text field, in place of the widget: see `Typist`. */
export class Field {
  private readonly typist: Typist;
  private readonly listeners = new AbortController();

  /** @param host an ancestor of the field, where its events are heard before the widget hears them */
  constructor(
    host: HTMLElement,
    private readonly field: HTMLTextAreaElement,
    private readonly listener: FieldListener,
  ) {
    this.typist = new Typist(listener);
    const hear = <Name extends keyof HTMLElementEventMap>(name: Name, act: (event: HTMLElementEventMap[Name]) => void): void =>
      host.addEventListener(
        name,
        (event) => {
          if (event.target !== field) return;
          event.stopImmediatePropagation();
          act(event);
        },
        { capture: true, signal: this.listeners.signal },
      );
    hear("keydown", (event) => this.keyDown(event));
    hear("keyup", (event) => this.take({ type: "keyup", press: pressOf(event, "release") }, event));
    hear("keypress", () => undefined);
    hear("beforeinput", (event) => this.take({ type: "beforeinput", inputType: event.inputType, value: field.value, isComposing: event.isComposing }, event));
    hear("input", (event) => this.take({ type: "input", value: field.value, isComposing: event instanceof InputEvent && event.isComposing }));
    hear("compositionstart", () => undefined);
    hear("compositionupdate", () => undefined);
    hear("compositionend", () => this.take({ type: "compositionend", value: field.value }));
    // The widget has to hear of the focus: it draws the cursor by that, and empties the field when it goes.
    field.addEventListener("focus", () => this.hold(this.typist.value), { signal: this.listeners.signal });
    field.addEventListener("blur", () => this.take({ type: "blur" }), { signal: this.listeners.signal });
    document.addEventListener("selectionchange", () => this.keepCaret(), { signal: this.listeners.signal });
  }

  /** Something else goes to the program now: what was composed goes first. */
  flush(): void {
    this.follow(this.typist.flush());
  }

  dispose(): void {
    this.listeners.abort();
  }

  private keyDown(event: KeyboardEvent): void {
    if (this.listener.intercepts(event)) return;
    const press = pressOf(event, event.repeat ? "repeat" : "press");
    this.take({ type: "keydown", press, isForInputMethod: isForInputMethod(event) }, event);
  }

  private take(event: FieldEvent, cause?: Event): void {
    // Whoever may not type leaves the field by Tab.
    if (this.field.readOnly && event.type !== "blur") return;
    const outcome = this.typist.take(event);
    if (outcome.isTaken) cause?.preventDefault();
    this.follow(outcome);
  }

  private follow({ sends, value }: { sends: Send[]; value: string | null }): void {
    if (value !== null) this.hold(value);
    for (const send of sends) this.listener.sent(send);
    this.listener.composing(this.typist.pending);
  }

  private hold(value: string): void {
    if (this.field.value === value) return;
    this.field.value = value;
    this.field.setSelectionRange(value.length, value.length);
  }

  /** Behind what was typed last is the only place where typing has a meaning. */
  private keepCaret(): void {
    const { field } = this;
    if (document.activeElement !== field || this.typist.pending !== "" || field.value !== this.typist.value) return;
    const { selectionStart, selectionEnd, value } = field;
    if (selectionStart === selectionEnd && selectionEnd < value.length) field.setSelectionRange(value.length, value.length);
  }
}

/** A key as an event tells it. */
export function pressOf(event: KeyboardEvent, kind: Press["kind"]): Press {
  const { key, code, shiftKey, altKey, ctrlKey, metaKey } = event;
  const press: Press = { key, code, shift: shiftKey, alt: altKey, ctrl: ctrlKey, meta: metaKey, altGraph: event.getModifierState("AltGraph"), kind };
  return IS_MAC && altKey && isCharacter(press) ? { ...press, key: withoutOption(press) } : press;
}

/** On a Mac, Option is Alt for a terminal, and what it makes of a letter is not wanted. */
function withoutOption({ key, code, shift }: Press): string {
  const letter = /^(?:Key|Digit)(.)$/.exec(code)?.[1]?.toLowerCase();
  if (letter === undefined) return key;
  return shift ? letter.toUpperCase() : letter;
}

const IS_MAC = navigator.platform.startsWith("Mac");
