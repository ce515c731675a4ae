import { signal } from "@preact/signals";
import { Acks } from "./acks";
import { Attachment } from "./attachment";
import { Display } from "./display";
import type { View } from "./fit";
import { barKey, modified, NO_MODIFIERS, released, type BarKey, type Modifiers } from "./modifiers";
import { Screen } from "./screen";
import { Stage } from "./stage";

/** Everything behind a session's screen: widget, layout, attachment, and what a person does to them. */
export class Controls {
  /** The key bar's modifiers. */
  readonly modifiers = signal<Modifiers>(NO_MODIFIERS);
  /** Whether something typed was just not sent. */
  readonly notSent = signal(false);
  readonly attachment: Attachment;
  private readonly screen: Screen;
  private readonly stage: Stage;
  private readonly stopWatching: () => void;

  constructor(session: string, host: HTMLElement, scroller: HTMLElement) {
    this.screen = new Screen(host, {
      typed: (text) => this.type(modified(text, this.modifiers.peek())),
      clicked: (bytes) => void this.attachment.typeBytes(bytes),
      changed: () => this.stage?.keepCursor(),
      resized: () => this.stage?.fit(),
    });
    const acks = new Acks((offset) => this.attachment.acknowledge(offset), beforeNextFrame);
    this.attachment = new Attachment(session, new Display(this.screen, (offset) => acks.advance(offset)));
    this.stage = new Stage(scroller, this.screen);
    this.stopWatching = this.attachment.hello.subscribe((hello) => {
      acks.restart();
      this.screen.writable = hello?.mode === "write";
    });
  }

  /** Presses a key of the bar. */
  press(key: BarKey): void {
    this.type(barKey(key, this.modifiers.peek(), this.screen.applicationCursor));
  }

  /** Sends a character under the key bar's modifiers; false, and nothing done, where there are none. */
  pressCharacter(character: string): boolean {
    const modifiers = this.modifiers.peek();
    if (modifiers.ctrl === "off" && modifiers.alt === "off") return false;
    this.type(modified(character, modifiers));
    return true;
  }

  /** Sends text and Enter; false, and nothing sent, where it would not arrive. */
  sendLine(text: string): boolean {
    if (!this.attachment.takesInput) {
      this.sayNotSent();
      return false;
    }
    if (text.includes("\n")) this.screen.paste(text);
    else this.attachment.type(text);
    this.type("\r");
    return true;
  }

  /** Shows the session in another way. */
  set view(view: View) {
    this.stage.view = view;
  }

  /** Takes typing from a hardware keyboard. */
  focus(): void {
    this.screen.focus();
  }

  dispose(): void {
    this.stopWatching();
    this.stage.dispose();
    this.screen.dispose();
  }

  private type(text: string): void {
    if (!this.attachment.type(text)) return this.sayNotSent();
    this.modifiers.value = released(this.modifiers.peek());
    this.stage.showCursor();
  }

  private sayNotSent(): void {
    if (this.attachment.hello.peek()?.mode !== "write" || this.attachment.exit.peek()) return;
    this.notSent.value = true;
    clearTimeout(this.notSentTimer);
    this.notSentTimer = setTimeout(() => (this.notSent.value = false), NOTE_SHOWN);
  }

  private notSentTimer: ReturnType<typeof setTimeout> | undefined;
}


/** A hidden page has no frames; acks then wait until somebody looks, and the daemon holds its output back. */
function beforeNextFrame(act: () => void): void {
  requestAnimationFrame(act);
}

/** Milliseconds. */
const NOTE_SHOWN = 4000;
