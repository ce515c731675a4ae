import type { Terminal } from "@xterm/xterm";
import { Handles, type End } from "./handles";
import { extended, lengthOf, shifted, wordAt, type Cell, type Span } from "./words";

/** What a selection tells. */
export interface SelectionListener {
  /** Whether anything is selected. */
  changed(isSelected: boolean): void;
  /** A finger that selects rests at an edge of what is to be seen: cells to go on, to the right and down where positive. */
  pushed(right: number, down: number): void;
}

/** What is selected, where it goes on in another widget. */
export interface Kept {
  span: Span;
  /** Whether it has handles: a finger took it. */
  hasHandles: boolean;
}

/** Selecting in a widget: by mouse the widget does it, by touch a held finger takes a word, and handles move its ends. */
export class Selection {
  private readonly handles: Handles;
  private readonly listeners = new AbortController();
  /** What a finger has selected. */
  private span: Span | null = null;
  /** What stays selected wherever the finger that selects now goes: its word, or the end that it has not. */
  private stays: Span | null = null;
  /** Where that goes on, and how many rows further down. */
  private heir: { selection: Selection; down: number } | null = null;
  private finger = { x: 0, y: 0 };
  private holding: ReturnType<typeof setTimeout> | undefined;
  private pushing: ReturnType<typeof setInterval> | undefined;
  private isRedrawn = false;

  constructor(
    private readonly terminal: Terminal,
    private readonly listener: SelectionListener,
  ) {
    this.handles = new Handles(terminal, {
      taken: (end) => this.takeEnd(end),
      moved: (x, y) => this.move(x, y),
      left: () => this.letGo(),
    });
    terminal.onSelectionChange(() => {
      if (this.isRedrawn) return;
      if (!terminal.hasSelection()) this.span = null;
      this.handles.place(this.span);
      listener.changed(terminal.hasSelection());
    });
    terminal.onRender(() => this.handles.place(this.span));
    const { element } = terminal;
    const { signal } = this.listeners;
    element?.addEventListener("touchstart", (event) => this.touch(event), { signal, passive: true });
    element?.addEventListener("touchmove", (event) => this.drag(event), { signal, passive: false });
    element?.addEventListener("touchend", (event) => this.lift(event), { signal, passive: false });
    element?.addEventListener("touchcancel", () => this.letGo(), { signal });
    // The system's menu would come with the held finger, and has nothing to offer here.
    element?.addEventListener("contextmenu", (event) => this.refuseMenu(event), { signal, capture: true });
  }

  /** Whether anything is selected. */
  get isThere(): boolean {
    return this.terminal.hasSelection();
  }

  /** What is selected, as text; lines that the program did not end are joined. */
  get text(): string {
    return this.terminal.getSelection();
  }

  /** What is selected; null where nothing is. */
  get kept(): Kept | null {
    if (this.span) return { span: this.span, hasHandles: true };
    const range = this.terminal.getSelectionPosition();
    if (!range) return null;
    // The widget's end is the cell behind the last one.
    const [first, last] = [range.start.y * this.terminal.cols + range.start.x, range.end.y * this.terminal.cols + range.end.x - 1];
    return { span: { from: this.cellOf(first), to: this.cellOf(last) }, hasHandles: false };
  }

  /** Selects a span, without handles. */
  mark(span: Span): void {
    this.restore({ span, hasHandles: false });
  }

  /** Selects what was selected before, or elsewhere. */
  restore({ span, hasHandles }: Kept): void {
    this.span = hasHandles ? span : null;
    this.terminal.select(span.from.column, span.from.row, lengthOf(span, this.terminal.cols));
  }

  /** Selects nothing. */
  clear(): void {
    if (this.terminal.hasSelection()) this.terminal.clearSelection();
  }

  /** Goes on in another widget, some rows further down; so does the finger that selects. */
  handOver(to: Selection, down: number): void {
    const { kept } = this;
    if (!kept) return;
    to.restore({ ...kept, span: shifted(kept.span, down) });
    if (this.stays) this.heir = { selection: to, down };
    this.clear();
  }

  /** What is selected stays so while the rows are drawn anew, some rows further down. */
  redrawn(): (down: number) => void {
    const { kept } = this;
    this.isRedrawn = true;
    return (down) => {
      this.isRedrawn = false;
      if (!kept) return;
      if (this.stays) this.stays = shifted(this.stays, down);
      this.restore({ ...kept, span: shifted(kept.span, down) });
    };
  }

  dispose(): void {
    this.letGo();
    this.listeners.abort();
  }

  private touch({ touches }: TouchEvent): void {
    this.letGo();
    const [finger] = touches;
    if (!finger || touches.length !== 1 || Handles.has(finger.target)) return;
    this.finger = { x: finger.clientX, y: finger.clientY };
    this.holding = setTimeout(() => this.takeWord(), LONG);
  }

  private takeWord(): void {
    const cell = this.cellAt(this.finger.x, this.finger.y);
    if (!cell) return;
    const { first, last } = wordAt(this.cellsOf(cell.row), cell.column);
    this.stays = { from: { column: first, row: cell.row }, to: { column: last, row: cell.row } };
    this.restore({ span: this.stays, hasHandles: true });
    navigator.vibrate?.(VIBRATION);
  }

  private takeEnd(end: End): void {
    const fixed = this.span?.[end === "from" ? "to" : "from"];
    this.stays = fixed ? { from: fixed, to: fixed } : null;
  }

  private drag(event: TouchEvent): void {
    const [finger] = event.touches;
    if (!finger) return;
    if (!this.stays) {
      const distance = Math.hypot(finger.clientX - this.finger.x, finger.clientY - this.finger.y);
      if (distance > STEADY) this.letGo();
      return;
    }
    // The finger selects; it neither pans nor scrolls.
    event.preventDefault();
    event.stopPropagation();
    this.move(finger.clientX, finger.clientY);
  }

  private lift(event: TouchEvent): void {
    // The mouse that browsers make of a touch would take the selection away again.
    if (this.stays) event.preventDefault();
    this.letGo();
  }

  private letGo(): void {
    clearTimeout(this.holding);
    clearInterval(this.pushing);
    this.pushing = undefined;
    this.stays = null;
    if (this.heir) this.heir.selection.stays = null;
    this.heir = null;
  }

  /** The finger that selects is at a place; at an edge, what is to be seen goes on below it. */
  private move(x: number, y: number): void {
    this.finger = { x, y };
    this.reach();
    const isAtEdge = this.push().some((cells) => cells !== 0);
    if (!isAtEdge) {
      clearInterval(this.pushing);
      this.pushing = undefined;
    }
    if (!isAtEdge || this.pushing !== undefined) return;
    this.pushing = setInterval(() => {
      this.listener.pushed(...this.push());
      this.reach();
    }, PUSH);
  }

  /** Selects up to the finger. */
  private reach(): void {
    if (!this.stays) return;
    const { selection, down } = this.heir ?? { selection: this, down: 0 };
    selection.stays ??= shifted(this.stays, down);
    const cell = selection.cellAt(this.finger.x, this.finger.y);
    if (cell) selection.restore({ span: extended(selection.stays, cell), hasHandles: true });
  }

  /** How far to go on, in cells, for where the finger is. */
  private push(): [right: number, down: number] {
    const view = this.terminal.element?.closest(".scroller")?.getBoundingClientRect();
    if (!view) return [0, 0];
    const { x, y } = this.finger;
    const step = (at: number, first: number, last: number, edge: number): number => (at < first + edge ? -1 : at > last - edge ? 1 : 0);
    return [step(x, view.left, view.right, SIDE), step(y, view.top, view.bottom, EDGE)];
  }

  private refuseMenu(event: Event): void {
    const isTouch = event instanceof PointerEvent && event.pointerType === "touch";
    if (!isTouch) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  /** The buffer's cell at a place on the screen; the nearest one outside. */
  private cellAt(x: number, y: number): Cell | null {
    const drawn = this.terminal.element?.querySelector(".xterm-screen")?.getBoundingClientRect();
    if (!drawn || drawn.width === 0) return null;
    const { cols, rows, buffer } = this.terminal;
    const at = (offset: number, length: number, count: number): number => Math.max(0, Math.min(count - 1, Math.floor((offset / length) * count)));
    return { column: at(x - drawn.left, drawn.width, cols), row: buffer.active.viewportY + at(y - drawn.top, drawn.height, rows) };
  }

  private cellOf(index: number): Cell {
    const { cols } = this.terminal;
    return { column: index % cols, row: Math.floor(index / cols) };
  }

  private cellsOf(row: number): string[] {
    const line = this.terminal.buffer.active.getLine(row);
    return Array.from({ length: this.terminal.cols }, (_, column) => {
      const cell = line?.getCell(column);
      // A cell that was never written is a blank; one without a width belongs to the sign before it.
      return cell && cell.getWidth() === 0 ? "" : cell?.getChars() || " ";
    });
  }
}

/** Milliseconds until a finger is held, as systems have it. */
const LONG = 450;
/** CSS pixels that a held finger may shake. */
const STEADY = 10;
/** Milliseconds. */
const VIBRATION = 10;
/** CSS pixels from the upper or lower edge at which a finger that selects moves what is to be seen; it has space beyond them. */
const EDGE = 4;
/** The same on the left and on the right, where a phone ends. */
const SIDE = 16;
/** Milliseconds from one line to the next. */
const PUSH = 60;
