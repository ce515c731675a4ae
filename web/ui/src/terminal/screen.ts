import { WebLinksAddon } from "@xterm/addon-web-links";
import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import type { Size } from "../protocol";
import { strings } from "../strings";
import type { Canvas } from "./display";
import { isFocusReport, muteAnswers } from "./mute";
import { pasted } from "./paste";
import { startOver } from "./start-over";
import { appearance, onAppearanceChange } from "./theme";
import { LINE_HEIGHT, widgetOptions } from "./widget";
import { daemonWidths } from "./widths";

/** What the screen tells. */
export interface ScreenListener {
  /** A person typed text. */
  typed(text: string): void;
  /** A person pasted text: what that sends, and how many keys it counts as. */
  pasted(text: string, keys: number): void;
  /** A person scrolled by lines, up where negative, and no program takes that. */
  scrolled(lines: number): void;
  /** A person's mouse, in an encoding that is no text. */
  clicked(bytes: Uint8Array): void;
  /** Something was drawn. */
  changed(): void;
  /** The session has another size. */
  resized(): void;
}

/** The terminal widget, loaded only where a session is shown. */
export class Screen implements Canvas {
  private readonly terminal: Terminal;
  private readonly stopTheme: () => void;

  constructor(host: HTMLElement, listener: ScreenListener) {
    this.terminal = new Terminal({
      ...widgetOptions(),
      cursorBlink: !matchMedia("(prefers-reduced-motion: reduce)").matches,
      disableStdin: true,
      linkHandler: { activate: (_event, uri) => openLink(uri, true) },
      // Kept for one thing: a screen that grows takes lines back, as the daemon's does. Nobody looks at them here.
      scrollback: 1000,
    });
    muteAnswers(this.terminal.parser);
    this.terminal.unicode.register(daemonWidths);
    this.terminal.unicode.activeVersion = daemonWidths.version;
    this.terminal.loadAddon(new WebLinksAddon((_event, uri) => openLink(uri, false)));
    this.terminal.open(host);
    host.addEventListener("paste", (event) => this.takePaste(event, listener), { capture: true });
    host.addEventListener("wheel", (event) => this.takeWheel(event, listener), { capture: true, passive: false });
    this.terminal.attachCustomKeyEventHandler((event) => this.takeKey(event, listener));
    this.terminal.onScroll(() => this.stayLive());
    this.terminal.onData((data) => isFocusReport(data) || listener.typed(data));
    this.terminal.onBinary((data) => listener.clicked(Uint8Array.from(data, (character) => character.charCodeAt(0))));
    this.terminal.onRender(() => listener.changed());
    this.terminal.onResize(() => listener.resized());
    this.terminal.textarea?.setAttribute("aria-label", strings.terminal.label);
    this.stopTheme = onAppearanceChange(() => (this.terminal.options = appearance()));
  }

  write(bytes: Uint8Array, drawn: () => void): void {
    this.terminal.write(bytes, drawn);
  }

  reset(size: Size): void {
    startOver(this.terminal, size);
  }

  resize(size: Size): void {
    this.terminal.write("", () => this.terminal.resize(size.columns, size.rows));
  }

  /** Whether typing is taken. */
  set writable(yes: boolean) {
    this.terminal.options.disableStdin = !yes;
  }

  /** Whether typed arrows are application cursor keys (DECCKM). */
  get applicationCursor(): boolean {
    return this.terminal.modes.applicationCursorKeysMode;
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
    return this.terminal.buffer.active.type === "normal" && this.terminal.modes.mouseTrackingMode === "none";
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

  /** Keys that scroll the widget scroll back instead. */
  private takeKey(event: KeyboardEvent, listener: ScreenListener): boolean {
    const pages = event.shiftKey && this.scrollsBack ? { PageUp: -1, PageDown: 1 }[event.key] : undefined;
    if (pages === undefined) return true;
    event.preventDefault();
    if (event.type === "keydown") listener.scrolled(pages * (this.terminal.rows - 1));
    return false;
  }

  /** A selection that is dragged beyond the top scrolls the widget by itself. */
  private stayLive(): void {
    const { viewportY, baseY } = this.terminal.buffer.active;
    if (viewportY !== baseY) this.terminal.scrollToBottom();
  }

  private wheeled = 0;

  dispose(): void {
    this.stopTheme();
    this.terminal.dispose();
  }
}

/** Opens a link of the program's; what is shown may differ from where it leads, so that is said where it can. */
function openLink(uri: string, ask: boolean): void {
  const protocol = URL.canParse(uri) ? new URL(uri).protocol : "";
  if (protocol !== "https:" && protocol !== "http:") return;
  if (ask && !confirm(strings.terminal.openLink(uri))) return;
  window.open(uri, "_blank", "noopener,noreferrer");
}
