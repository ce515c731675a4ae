import { WebLinksAddon } from "@xterm/addon-web-links";
import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import type { Size } from "../protocol";
import { strings } from "../strings";
import type { Canvas } from "./display";
import { isFocusReport, muteAnswers } from "./mute";
import { startOver } from "./start-over";
import { appearance, onAppearanceChange } from "./theme";
import { daemonWidths } from "./widths";

/** What the screen tells. */
export interface ScreenListener {
  /** A person typed or pasted text. */
  typed(text: string): void;
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
      allowProposedApi: true,
      cursorBlink: !matchMedia("(prefers-reduced-motion: reduce)").matches,
      disableStdin: true,
      fontFamily: fontFamily(),
      fontSize: 13,
      lineHeight: 1.15,
      linkHandler: { activate: (_event, uri) => openLink(uri, true) },
      macOptionIsMeta: true,
      scrollback: 5000,
      ...appearance(),
    });
    muteAnswers(this.terminal.parser);
    this.terminal.unicode.register(daemonWidths);
    this.terminal.unicode.activeVersion = daemonWidths.version;
    this.terminal.loadAddon(new WebLinksAddon((_event, uri) => openLink(uri, false)));
    this.terminal.open(host);
    host.addEventListener("paste", (event) => this.takePaste(event), { capture: true });
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

  /** Hands text over as a paste: bracketed where the program asked for it. */
  paste(text: string): void {
    if (!this.terminal.options.disableStdin) this.terminal.paste(withoutPasteEnd(text));
  }

  /** Takes typing. */
  focus(): void {
    this.terminal.focus();
  }

  /** Scrolls by lines, up where negative. */
  scrollLines(lines: number): void {
    this.terminal.scrollLines(lines);
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
  private takePaste(event: ClipboardEvent): void {
    event.preventDefault();
    event.stopImmediatePropagation();
    this.paste(event.clipboardData?.getData("text/plain") ?? "");
  }

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

/** A pasted end marker would end the bracket early, and what follows would be typed. */
function withoutPasteEnd(text: string): string {
  return text.replaceAll(/\x1b?\[201~/g, "");
}

function fontFamily(): string {
  return getComputedStyle(document.documentElement).getPropertyValue("--mono").trim();
}
