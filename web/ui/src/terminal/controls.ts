import { signal } from "@preact/signals";
import { screenOf } from "../api/client";
import { asDevice, NoAccess, type Authority } from "../keys/access";
import { bearerOf } from "../keys/proof";
import { strings } from "../strings";
import { isForInputMethod } from "../ui/composing";
import { Acks } from "./acks";
import { Attachment } from "./attachment";
import { Display } from "./display";
import { pressOf as keyOf } from "./field";
import { pinchedSize, type View } from "./fit";
import { HeldCanvas } from "./held";
import { keysIn } from "./input-queue";
import { inputOf } from "./inputs";
import { LookBack } from "./look-back";
import type { Press } from "./keys";
import { isModifying, NO_MODIFIERS, pressOf, released, under, type Modifiers } from "./modifiers";
import { isCopy, isFind, Screen } from "./screen";
import { Stage } from "./stage";

/** Everything behind a session's screen: widget, layout, attachment, and what a person does to them. */
export class Controls {
  /** The key bar's modifiers. */
  readonly modifiers = signal<Modifiers>(NO_MODIFIERS);
  /** Whether something typed was just not taken. */
  readonly tooMuch = signal(false);
  /** Whether something is selected; the live screen stands still meanwhile. */
  readonly selected = signal(false);
  /** How often the letters were pinched. */
  readonly pinches = signal(0);
  /** Text that the program has for the clipboard, where the browser wants a tap before it takes it. */
  readonly offered = signal<string | null>(null);
  /** Whether somebody looks for a text. */
  readonly isFinding = signal(false);
  /** Whether somebody chooses the keys of the bar. */
  readonly isChoosingKeys = signal(false);
  /** Whether screen readers are told what is drawn. */
  readonly readsAloud = signal(localStorage.getItem(READS_ALOUD) === "yes");
  /** Why the last action on the session did not work, in words; null where it did, or was not tried. */
  readonly failure = signal<string | null>(null);
  /** Something to say that passes; null where there is nothing. */
  readonly note = signal<string | null>(null);
  /** What is typed, on its way to the program. */
  readonly input;
  readonly attachment: Attachment;
  readonly lookBack: LookBack;
  private readonly screen: Screen;
  private readonly canvas: HeldCanvas;
  private readonly stage: Stage;
  private readonly endings: (() => void)[] = [];

  constructor(session: string, host: HTMLElement, scroller: HTMLElement, authority: Authority = asDevice) {
    this.input = inputOf(session);
    this.screen = new Screen(host, {
      typed: (text) => this.typeText(text),
      pressed: (press) => this.press(press),
      pasted: (text, keys) => this.type(text, keys),
      wantsAtOnce: (pending) => this.wantsAtOnce(pending),
      clicked: (bytes) => void this.attachment.typeBytes(bytes, 1),
      scrolled: (lines) => this.stage.canPan(lines > 0) || this.scroll(lines),
      selected: () => this.select(),
      pushed: (right, down) => this.push(right, down),
      copied: () => void this.copy(),
      finding: () => (this.isFinding.value = true),
      clipped: (text) => void this.clip(text),
      changed: () => this.stage?.keepCursor(),
      resized: () => this.resized(),
    });
    this.canvas = new HeldCanvas(this.screen);
    const acks = new Acks((offset) => this.attachment.acknowledge(offset), soon);
    this.attachment = new Attachment(session, new Display(this.canvas, (offset) => acks.advance(offset)), this.input, authority);
    this.lookBack = new LookBack({
      host,
      read: async (lines, before) => {
        const credential = authority.current();
        if (!credential) throw new NoAccess("unpaired");
        return screenOf(bearerOf(credential), session, lines, before);
      },
      fontSize: () => this.screen.fontSize,
      typed: (text) => this.typeText(text),
      key: (event) => this.takeKey(event),
      selected: () => this.select(),
      pushed: (right, down) => this.push(right, down),
    });
    this.stage = new Stage(scroller, this.screen, host, {
      pinched: (fontSize) => this.pinch(fontSize),
      scrolled: (lines) => this.scrolledByTouch(lines),
      fitted: () => this.fitted(),
    });
    const letters = Number(localStorage.getItem(LETTERS));
    if (letters > 0) this.stage.readable = pinchedSize(letters, 1);
    this.endings.push(
      this.attachment.hello.subscribe((hello) => {
        acks.restart();
        this.screen.writable = hello?.mode === "write";
      }),
      this.lookBack.looking.subscribe(() => this.look()),
      this.selected.subscribe(() => this.look()),
      this.readsAloud.subscribe((yes) => (this.screen.readsAloud = yes)),
    );
    const listeners = new AbortController();
    document.addEventListener("visibilitychange", () => this.look(), { signal: listeners.signal });
    this.endings.push(() => listeners.abort());
  }

  /** Presses a key of the bar. */
  tap(press: Press): void {
    this.screen.commit();
    this.press(press);
  }

  /** Sends a character under the key bar's modifiers; false, and nothing done, where there are none. */
  pressCharacter(character: string): boolean {
    if (!isModifying(this.modifiers.peek())) return false;
    this.typeText(character);
    return true;
  }

  /** Sends text and Enter; false, and nothing sent, where it is not taken. */
  sendLine(text: string): boolean {
    const line = text.includes("\n") ? this.screen.paste(text) : text;
    return this.type(`${line}\r`, [...text].length + 1);
  }

  /** Puts what the program offered into the clipboard. */
  async takeOffered(): Promise<void> {
    const text = this.offered.peek();
    this.offered.value = null;
    if (text !== null) await this.intoClipboard(text, strings.terminal.copied, strings.terminal.notCopied);
  }

  /** Shows the session in another way. */
  set view(view: View) {
    this.stage.view = view;
  }

  /** "Fit to this screen": the session gets the size that fits it. */
  claim(): void {
    this.attachment.fit(this.stage.fittingSize());
  }

  /** Takes typing from a hardware keyboard. */
  focus(): void {
    this.screen.focus();
  }

  /** Pastes what the clipboard holds. */
  async paste(): Promise<void> {
    try {
      const text = await navigator.clipboard.readText();
      this.screen.commit();
      if (text !== "") this.type(this.screen.paste(text), [...text].length);
    } catch {
      this.note.value = strings.terminal.notPasted;
    }
  }

  /** Tells screen readers what is drawn, or not; kept for the next time. */
  readAloud(yes: boolean): void {
    this.readsAloud.value = yes;
    localStorage.setItem(READS_ALOUD, yes ? "yes" : "no");
  }

  /** Puts what is selected into the clipboard, and lets go of it. */
  async copy(): Promise<void> {
    const selection = this.lookBack.selection?.isThere ? this.lookBack.selection : this.screen.selection;
    if (!selection.isThere) return;
    if (await this.intoClipboard(selection.text, strings.terminal.copied, strings.terminal.notCopied)) selection.clear();
  }

  /** Back to the live screen, whose cursor is in view then. */
  toLive(): void {
    this.lookBack.leave();
    this.screen.selection.clear();
    this.stage.showCursor();
    if (matchMedia("(pointer: fine)").matches) this.focus();
  }

  dispose(): void {
    for (const end of this.endings) end();
    this.lookBack.leave();
    this.stage.dispose();
    this.screen.dispose();
  }

  /** Keys over lines that stand still mean what they mean over the live screen. */
  private takeKey(event: KeyboardEvent): boolean {
    if (event.metaKey || isForInputMethod(event)) return false;
    if (isFind(event)) this.isFinding.value = true;
    else if (isCopy(event) && (event.shiftKey || this.selected.peek())) void this.copy();
    else {
      const press = keyOf(event, event.repeat ? "repeat" : "press");
      if (this.screen.bytesOf(press) === null) return false;
      this.press(press);
    }
    event.preventDefault();
    return true;
  }

  private press(press: Press): void {
    const bytes = this.screen.bytesOf(under(press, this.modifiers.peek()));
    if (bytes !== null) this.type(bytes, 1);
  }

  private typeText(text: string): void {
    const press = pressOf(text, this.modifiers.peek());
    this.type((press && this.screen.bytesOf(press)) ?? text);
  }

  private type(text: string, keys = keysIn(text)): boolean {
    if (!this.attachment.takesInput) return false;
    const isTaken = this.attachment.type(text, keys);
    this.tooMuch.value = !isTaken;
    if (!isTaken) return false;
    this.modifiers.value = released(this.modifiers.peek());
    if (this.lookBack.looking.peek() === "back" || this.selected.peek()) this.toLive();
    else this.stage.showCursor();
    return true;
  }

  /** Under a modifier of the key bar a letter is a key, and to most full-screen programs it is, too. */
  private wantsAtOnce(pending: string): boolean {
    if (isModifying(this.modifiers.peek())) return true;
    return this.screen.isAlternate && /^[\x20-\x7e]+$/.test(pending) && !COMPOSES_ASCII.test(navigator.language);
  }

  private scrolledByTouch(lines: number): void {
    if (this.lookBack.looking.peek() === "back" || this.screen.scrollsBack) this.scroll(lines);
  }

  /** Goes on where a finger that selects is at the edge of what is to be seen. */
  private push(right: number, down: number): void {
    if (!this.stage.pan(right, down) && down !== 0) this.scrolledByTouch(down);
  }

  /** Scrolls by lines; what is selected on the live screen goes along. */
  private scroll(lines: number): void {
    const looking = this.lookBack.looking.peek();
    const isLive = looking === "live" || looking === "failed";
    if (isLive && this.screen.selection.isThere) void this.scrollSelected(lines);
    else this.lookBack.scroll(lines);
  }

  private async scrollSelected(lines: number): Promise<void> {
    const { kept } = this.screen.selection;
    if (lines >= 0 || !kept) return;
    const { first, texts } = this.screen.rows;
    const down = await this.lookBack.take(texts, { first: kept.span.from.row - first, last: kept.span.to.row - first }, lines);
    const { selection } = this.lookBack;
    if (down !== null && selection) this.screen.selection.handOver(selection, down - first);
    else if (this.lookBack.looking.peek() === "live") this.note.value = strings.terminal.selectionStays;
  }

  private resized(): void {
    this.stage?.fit();
    this.lookBack?.resized(this.screen.size);
  }

  /** A person who wanted the session to fit this screen wants that of a turned one too. An open keyboard turns nothing. */
  private fitted(): void {
    this.lookBack?.fit();
    const isTyping = document.activeElement instanceof HTMLTextAreaElement && matchMedia("(pointer: coarse)").matches;
    const size = this.stage.fittingSize();
    const { wanted } = this.attachment;
    if (!wanted || (isTyping && size.columns === wanted.columns)) return;
    if (size.columns !== wanted.columns || size.rows !== wanted.rows) this.attachment.offer(size);
  }

  /** A program's text for the clipboard, which a viewer's page does not take. */
  private async clip(text: string): Promise<void> {
    if (this.attachment.hello.peek()?.mode !== "write") return;
    const isHere = document.visibilityState === "visible" && document.hasFocus();
    if (!isHere || !(await this.intoClipboard(text, strings.terminal.clipboardSet, null))) this.offered.value = text;
  }

  private async intoClipboard(text: string, done: string, failed: string | null): Promise<boolean> {
    try {
      await navigator.clipboard.writeText(text);
      this.note.value = done;
      return true;
    } catch {
      this.note.value = failed;
      return false;
    }
  }

  private pinch(fontSize: number): void {
    localStorage.setItem(LETTERS, String(fontSize));
    this.stage.readable = fontSize;
    this.stage.view = "readable";
    this.pinches.value += 1;
  }

  /** What somebody selects on the live screen stands still under the finger, while the program runs on. */
  private select(): void {
    const isLive = this.screen.selection.isThere;
    if (isLive) this.canvas.hold();
    else this.canvas.release();
    this.selected.value = isLive || (this.lookBack?.selection?.isThere ?? false);
  }

  private look(): void {
    const isAtLiveEdge = this.lookBack.looking.peek() !== "back" && !this.screen.selection.isThere;
    this.attachment.look(document.visibilityState === "visible", isAtLiveEdge);
  }
}

/** Before the next frame, which is when it is drawn; a hidden page has no frames and draws nothing, but goes on. */
function soon(act: () => void): void {
  let isDone = false;
  const once = (): void => {
    if (!isDone) act();
    isDone = true;
  };
  requestAnimationFrame(once);
  setTimeout(once, HIDDEN_PAUSE);
}

const LETTERS = "transom.letters";
const READS_ALOUD = "transom.screen-reader";
/** Languages whose input methods make their signs of Latin letters. */
const COMPOSES_ASCII = /^(?:zh|ja|vi)\b/;
/** Milliseconds; the daemon sends a hidden page a few updates a second. */
const HIDDEN_PAUSE = 250;
