import { Terminal } from "@xterm/xterm";
import type { Line, Size } from "../protocol";
import { strings } from "../strings";
import { drawLines } from "./lines";
import { Selection } from "./selection";
import { appearance, onAppearanceChange } from "./theme";
import type { Span } from "./words";
import { followDaemon, widgetOptions } from "./widget";

/** What the pane tells. */
export interface PaneListener {
  /** The view moved: lines above it, and lines below it. */
  moved(above: number, below: number): void;
  /** A person typed text. */
  typed(text: string): void;
  /** A person pressed a key; whether it was taken, and the widget is to make nothing of it. */
  key(event: KeyboardEvent): boolean;
  /** A person selected something, or let go of it. */
  selected(isSelected: boolean): void;
  /** A finger that selects is at an edge: cells to go on, to the right and down where positive. */
  pushed(right: number, down: number): void;
}

/** Lines that stand still, in a second widget that covers the live one cell for cell. */
export class Pane {
  /** What is selected of the lines. */
  readonly selection: Selection;
  private readonly element = document.createElement("div");
  private readonly terminal: Terminal;
  private readonly stopTheme: () => void;

  constructor(host: HTMLElement, size: Size, fontSize: number, listener: PaneListener) {
    this.element.className = "pane";
    host.append(this.element);
    this.terminal = new Terminal({ ...widgetOptions(), cols: size.columns, rows: size.rows, fontSize, cursorInactiveStyle: "none" });
    this.terminal.open(this.element);
    followDaemon(this.terminal);
    this.terminal.textarea?.setAttribute("aria-label", strings.terminal.earlier);
    this.selection = new Selection(this.terminal, {
      changed: (isSelected) => listener.selected(isSelected),
      pushed: (right, down) => listener.pushed(right, down),
    });
    // Looking needs no on-screen keyboard; a hardware one types all the same.
    if (this.terminal.textarea) this.terminal.textarea.inputMode = "none";
    this.terminal.attachCustomKeyEventHandler((event) => event.type !== "keydown" || !listener.key(event));
    this.terminal.onData((data) => listener.typed(data));
    this.terminal.onScroll(() => this.tell(listener));
    this.stopTheme = onAppearanceChange(() => (this.terminal.options = appearance()));
  }

  /**
   * Shows lines, with `above` of them above the view; those that were shown before are `down` rows further down now, and
   * what is selected of them stays so. Resolves once they are drawn.
   */
  show(lines: readonly Line[], above: number, down = 0): Promise<void> {
    const { terminal } = this;
    const redrawn = this.selection.redrawn();
    terminal.options.scrollback = lines.length;
    return new Promise((resolve) =>
      terminal.write(drawLines(lines, terminal.cols), () => {
        terminal.scrollToLine(above);
        redrawn(down);
        resolve();
      }),
    );
  }

  /** Lines above the view. */
  get above(): number {
    return this.terminal.buffer.active.viewportY;
  }

  /** Marks a span, whose rows count from the first line, and brings it into view. */
  mark(span: Span): void {
    const { rows } = this.terminal;
    const isInView = span.from.row >= this.above && span.from.row < this.above + rows;
    if (!isInView) this.terminal.scrollToLine(Math.max(0, span.from.row - Math.floor(rows / 2)));
    this.selection.mark(span);
  }

  /** Scrolls by lines, up where negative. */
  scroll(lines: number): void {
    this.terminal.scrollLines(lines);
  }

  /** The font size in CSS pixels. */
  set fontSize(pixels: number) {
    if (this.terminal.options.fontSize !== pixels) this.terminal.options.fontSize = pixels;
  }

  dispose(): void {
    this.stopTheme();
    this.selection.dispose();
    this.terminal.dispose();
    this.element.remove();
  }

  private tell(listener: PaneListener): void {
    const { viewportY, baseY } = this.terminal.buffer.active;
    listener.moved(viewportY, baseY - viewportY);
  }
}
