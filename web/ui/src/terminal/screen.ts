import { WebLinksAddon } from "@xterm/addon-web-links";
import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import type { Size } from "../protocol";
import { strings } from "../strings";
import { Blink } from "./blink";
import { clipboardText } from "./clipboard";
import { Composition } from "./composition";
import type { Canvas } from "./display";
import { Field } from "./field";
import { Keyboard } from "./keyboard";
import { encoded, KITTY, type Press } from "./keys";
import { isFocusReport } from "./mute";
import { pasted } from "./paste";
import { Selection } from "./selection";
import { startOver } from "./start-over";
import { appearance, onAppearanceChange } from "./theme";
import { followDaemon, LINE_HEIGHT, widgetOptions } from "./widget";

/** What the screen tells. */
export interface ScreenListener {
  /** A person typed text. */
  typed(text: string): void;
  /** A person pressed a key. */
  pressed(press: Press): void;
  /** A person pasted text: what that sends, and how many keys it counts as. */
  pasted(text: string, keys: number): void;
  /** Whether text that is being composed is wanted letter by letter. */
  wantsAtOnce(pending: string): boolean;
  /** A person scrolled by lines, up where negative, and no program takes that. */
  scrolled(lines: number): void;
  /** A person's mouse, in an encoding that is no text. */
  clicked(bytes: Uint8Array): void;
  /** A person selected something, or let go of it. */
  selected(isSelected: boolean): void;
  /** A finger that selects is at an edge: cells to go on, to the right and down where positive. */
  pushed(right: number, down: number): void;
  /** A person wants what is selected in the clipboard. */
  copied(): void;
  /** A person wants to look for a text. */
  finding(): void;
  /** The program puts text into the clipboard. */
  clipped(text: string): void;
  /** Something was drawn. */
  changed(): void;
  /** The session has another size. */
  resized(): void;
}

/** The terminal widget, loaded only where a session is shown. */
export class Screen implements Canvas {
  private readonly terminal: Terminal;
  /** What is selected on the live screen. */
  readonly selection: Selection;
  private readonly keyboard = new Keyboard();
  private readonly field: Field;
  private readonly composition: Composition;
  private readonly stopTheme: () => void;
  private readonly blink: Blink;

  constructor(host: HTMLElement, listener: ScreenListener) {
    this.terminal = new Terminal({
      ...widgetOptions(),
      cursorBlink: !isStill(),
      disableStdin: true,
      linkHandler: { activate: (_event, uri) => openLink(uri, true) },
      // Kept for one thing: a screen that grows takes lines back, as the daemon's does. Nobody looks at them here.
      scrollback: 1000,
    });
    this.terminal.loadAddon(new WebLinksAddon((_event, uri) => openLink(uri, false)));
    this.terminal.open(host);
    followDaemon(this.terminal);
    revealNothing(this.terminal);
    host.addEventListener("paste", (event) => this.takePaste(event, listener), { capture: true });
    host.addEventListener("wheel", (event) => this.takeWheel(event, listener), { capture: true, passive: false });
    this.terminal.parser.registerOscHandler(CLIPBOARD, (data) => {
      const text = clipboardText(data);
      if (text !== null) listener.clipped(text);
      return true;
    });
    this.keyboard.follow(this.terminal.parser, () => this.isAlternate);
    this.composition = new Composition(this.terminal);
    this.field = this.typeInto(host, listener);
    this.selection = new Selection(this.terminal, {
      changed: (isSelected) => listener.selected(isSelected),
      pushed: (right, down) => listener.pushed(right, down),
    });
    this.terminal.onScroll(() => this.stayLive());
    this.terminal.onData((data) => data === "" || isFocusReport(data) || listener.typed(data));
    this.terminal.onBinary((data) => listener.clicked(Uint8Array.from(data, (character) => character.charCodeAt(0))));
    this.blink = new Blink(
      (yes) => host.classList.toggle("cursor-off", !yes),
      () => host.contains(document.activeElement) && !isStill(),
    );
    for (const change of ["focusin", "focusout"]) host.addEventListener(change, () => this.blink.restart());
    this.terminal.onRender(() => {
      this.blink.drawn();
      this.composition.place();
      listener.changed();
    });
    this.terminal.onResize(() => listener.resized());
    this.terminal.textarea?.setAttribute("aria-label", strings.terminal.label);
    this.bringKeyboardBack(host);
    this.stopTheme = onAppearanceChange(() => (this.terminal.options = appearance()));
  }

  write(bytes: Uint8Array, drawn: () => void): void {
    this.terminal.write(bytes, drawn);
  }

  reset(size: Size): void {
    startOver(this.terminal, size, () => this.keyboard.reset());
  }

  resize(size: Size): void {
    this.terminal.write("", () => this.terminal.resize(size.columns, size.rows));
  }

  /** Whether typing is taken. */
  set writable(yes: boolean) {
    this.terminal.options.disableStdin = !yes;
  }

  /** Whether screen readers are told what is drawn. */
  set readsAloud(yes: boolean) {
    this.terminal.options.screenReaderMode = yes;
  }

  /** What a key sends, in the form that the program asked for; null where that is nothing. */
  bytesOf(press: Press): string | null {
    const { applicationCursorKeysMode: applicationCursor } = this.terminal.modes;
    return encoded(press, { applicationCursor, kitty: this.keyboard.flags(this.isAlternate), otherKeys: this.keyboard.otherKeys });
  }

  /** Whether the alternate screen shows. */
  get isAlternate(): boolean {
    return this.terminal.buffer.active.type === "alternate";
  }

  /** Something else goes to the program now: what is being composed goes first. */
  commit(): void {
    this.field.flush();
  }

  /** What pasting a text sends, by the mode that the program asked for. */
  paste(text: string): string {
    return pasted(text, this.terminal.modes.bracketedPasteMode);
  }

  /** Takes typing. */
  focus(): void {
    this.terminal.focus();
  }

  /** Whether scrolling is for whoever looks, not for the program. */
  get scrollsBack(): boolean {
    return !this.isAlternate && this.terminal.modes.mouseTrackingMode === "none";
  }

  /** The size in cells. */
  get size(): Size {
    return { columns: this.terminal.cols, rows: this.terminal.rows };
  }

  /** The font size in CSS pixels. */
  set fontSize(pixels: number) {
    if (this.terminal.options.fontSize !== pixels) this.terminal.options.fontSize = pixels;
  }

  get fontSize(): number {
    return this.terminal.options.fontSize ?? 0;
  }

  /** The cursor's cell in the visible rows, counted from the top left. */
  get cursor(): { column: number; row: number } {
    const { cursorX, cursorY, baseY, viewportY } = this.terminal.buffer.active;
    return { column: cursorX, row: cursorY + baseY - viewportY };
  }

  /** The visible rows as text, without blanks at their ends, and the buffer's row of the first one. */
  get rows(): { first: number; texts: string[] } {
    const { active } = this.terminal.buffer;
    const texts = Array.from({ length: this.terminal.rows }, (_, row) => active.getLine(active.viewportY + row)?.translateToString(true).trimEnd() ?? "");
    return { first: active.viewportY, texts };
  }

  /** The drawn area. */
  get element(): HTMLElement | null {
    return this.terminal.element?.querySelector<HTMLElement>(".xterm-screen") ?? null;
  }

  /** The widget would bracket a paste without looking into it. */
  private takePaste(event: ClipboardEvent, listener: ScreenListener): void {
    event.preventDefault();
    event.stopImmediatePropagation();
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (!this.terminal.options.disableStdin) listener.pasted(this.paste(text), [...text].length);
  }

  /** The widget would look for scrollback of its own, which is not whole. */
  private takeWheel(event: WheelEvent, listener: ScreenListener): void {
    const isLive = event.target instanceof Node && (this.terminal.element?.contains(event.target) ?? false);
    if (!isLive || !this.scrollsBack || event.ctrlKey) return;
    event.stopPropagation();
    this.wheeled += event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? event.deltaY / (this.fontSize * LINE_HEIGHT) : event.deltaY;
    const lines = Math.trunc(this.wheeled);
    this.wheeled -= lines;
    listener.scrolled(lines);
  }

  private typeInto(host: HTMLElement, listener: ScreenListener): Field {
    const { textarea } = this.terminal;
    if (!textarea) throw new Error("the widget has no text field");
    const isTouch = matchMedia("(pointer: coarse)").matches;
    return new Field(host, textarea, {
      takesCharacters: () => !isTouch || (this.keyboard.flags(this.isAlternate) & KITTY.all) !== 0,
      sends: (press) => this.bytesOf(press) !== null,
      wantsAtOnce: (pending) => listener.wantsAtOnce(pending),
      intercepts: (event) => this.takeKey(event, listener),
      composing: (text) => this.composition.show(text),
      sent: (send) => {
        this.awaitEcho();
        if (send.kind === "text") listener.typed(send.text);
        else if (send.kind === "paste") listener.pasted(this.paste(send.text), [...send.text].length);
        else listener.pressed(send.press);
      },
    });
  }

  /** Has the widget draw what comes next with the next frame: it puts output off, but what follows a person's own input. */
  private awaitEcho(): void {
    this.terminal.input("", true);
  }

  /** A tap on a field that has the focus already does not open an on-screen keyboard that was closed. */
  private bringKeyboardBack(host: HTMLElement): void {
    const { textarea } = this.terminal;
    let hadFocus = false;
    host.addEventListener("pointerdown", () => (hadFocus = document.activeElement === textarea), { capture: true });
    host.addEventListener("click", (event) => {
      if (!hadFocus || !(event instanceof PointerEvent) || event.pointerType !== "touch") return;
      textarea?.blur();
      textarea?.focus({ preventScroll: true });
    });
  }

  /** Keys that scroll, those by which browsers paste, and those that copy what is selected. */
  private takeKey(event: KeyboardEvent, listener: ScreenListener): boolean {
    // Command and the Windows key are the browser's and the system's.
    if (event.metaKey) return true;
    if (isCopy(event) && (event.shiftKey || this.selection.isThere)) {
      event.preventDefault();
      listener.copied();
      return true;
    }
    if (isFind(event)) {
      event.preventDefault();
      listener.finding();
      return true;
    }
    const pages = event.shiftKey && this.scrollsBack ? { PageUp: -1, PageDown: 1 }[event.key] : undefined;
    if (pages === undefined) return isPaste(event);
    event.preventDefault();
    listener.scrolled(pages * (this.terminal.rows - 1));
    return true;
  }

  /** A selection that is dragged beyond the top scrolls the widget by itself. */
  private stayLive(): void {
    const { viewportY, baseY } = this.terminal.buffer.active;
    if (viewportY !== baseY) this.terminal.scrollToBottom();
  }

  private wheeled = 0;

  dispose(): void {
    this.blink.stop();
    this.stopTheme();
    this.field.dispose();
    this.selection.dispose();
    this.terminal.dispose();
  }
}

/** Ctrl+C, which is the program's where nothing is selected, and Ctrl+Shift+C. */
export function isCopy({ key, ctrlKey, altKey, metaKey }: KeyboardEvent): boolean {
  return ctrlKey && !altKey && !metaKey && key.toLowerCase() === "c";
}

/** Ctrl+Shift+F, as terminals have it. */
export function isFind({ key, ctrlKey, shiftKey }: KeyboardEvent): boolean {
  return ctrlKey && shiftKey && key.toLowerCase() === "f";
}

/** Ctrl+Shift+V and Shift+Insert; Ctrl+V is the program's. */
function isPaste({ key, shiftKey, ctrlKey }: KeyboardEvent): boolean {
  return shiftKey && (key === "Insert" || (ctrlKey && key.toLowerCase() === "v"));
}

/**
 * Each line that scrolls, the widget reveals its scrollbar, which nobody sees here, and sets a timer to hide it: a third of
 * the time that a flood takes. It has no option for that; where it is built in another way, it only takes that time.
 */
function revealNothing(terminal: Terminal): void {
  const { _core: core } = terminal as { _core?: { _viewport?: { _scrollableElement?: { setRevealOnScroll?(yes: boolean): void } } } };
  core?._viewport?._scrollableElement?.setRevealOnScroll?.(false);
}

/** Whether a person wants nothing to move. */
function isStill(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** Opens a link of the program's; what is shown may differ from where it leads, so that is said where it can. */
function openLink(uri: string, ask: boolean): void {
  const protocol = URL.canParse(uri) ? new URL(uri).protocol : "";
  if (protocol !== "https:" && protocol !== "http:") return;
  if (ask && !confirm(strings.terminal.openLink(new URL(uri).href))) return;
  window.open(uri, "_blank", "noopener,noreferrer");
}

/** OSC 52. */
const CLIPBOARD = 52;
