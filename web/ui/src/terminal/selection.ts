import type { Terminal } from "@xterm/xterm";
import { extended, lengthOf, moved, wordAt, type Cell, type Span } from "./words";

/** Selecting in a widget: by mouse the widget does it, by touch a held finger takes a word, and handles move its ends. */
export class Selection {
  private readonly handles: Record<"from" | "to", HTMLElement>;
  private readonly listeners = new AbortController();
  private span: Span | null = null;
  /** The finger's word, and whether it is held for long enough. */
  private held: { word: Span } | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** @param changed hears whether anything is selected */
  constructor(
    private readonly terminal: Terminal,
    changed: (isSelected: boolean) => void,
  ) {
    this.handles = { from: this.makeHandle("from"), to: this.makeHandle("to") };
    terminal.onSelectionChange(() => {
      if (!terminal.hasSelection()) this.span = null;
      this.place();
      changed(terminal.hasSelection());
    });
    terminal.onRender(() => this.place());
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

  /** Selects a span, without handles. */
  mark({ from, to }: Span): void {
    this.terminal.select(from.column, from.row, lengthOf({ from, to }, this.terminal.cols));
  }

  /** Selects nothing. */
  clear(): void {
    if (this.terminal.hasSelection()) this.terminal.clearSelection();
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.listeners.abort();
  }

  private touch({ touches }: TouchEvent): void {
    this.letGo();
    const [finger] = touches;
    if (!finger || touches.length !== 1 || (finger.target as Element).closest(".handle")) return;
    const { clientX, clientY } = finger;
    this.origin = { x: clientX, y: clientY };
    this.timer = setTimeout(() => this.take(this.cellAt(clientX, clientY)), LONG);
  }

  private take(cell: Cell | null): void {
    if (!cell) return;
    const { first, last } = wordAt(this.cellsOf(cell.row), cell.column);
    const word: Span = { from: { column: first, row: cell.row }, to: { column: last, row: cell.row } };
    this.held = { word };
    this.select(word);
    navigator.vibrate?.(VIBRATION);
  }

  private drag(event: TouchEvent): void {
    const [finger] = event.touches;
    if (!finger) return;
    if (!this.held) {
      const distance = Math.hypot(finger.clientX - this.origin.x, finger.clientY - this.origin.y);
      if (distance > STEADY) this.letGo();
      return;
    }
    // The finger selects; it neither pans nor scrolls.
    event.preventDefault();
    event.stopPropagation();
    const cell = this.cellAt(finger.clientX, finger.clientY);
    if (cell) this.select(extended(this.held.word, cell));
  }

  private lift(event: TouchEvent): void {
    // The mouse that browsers make of a touch would take the selection away again.
    if (this.held) event.preventDefault();
    this.letGo();
  }

  private letGo(): void {
    clearTimeout(this.timer);
    this.held = null;
  }

  private refuseMenu(event: Event): void {
    const isTouch = event instanceof PointerEvent && event.pointerType === "touch";
    if (!isTouch) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  private select(span: Span): void {
    this.span = span;
    this.terminal.select(span.from.column, span.from.row, lengthOf(span, this.terminal.cols));
  }

  private makeHandle(end: "from" | "to"): HTMLElement {
    const handle = document.createElement("div");
    handle.className = `handle handle-${end}`;
    handle.hidden = true;
    this.terminal.element?.querySelector(".xterm-screen")?.append(handle);
    const move = (event: PointerEvent): void => {
      if (!this.span || !handle.hasPointerCapture(event.pointerId)) return;
      // The handle hangs below its cell, and the finger is on the handle.
      const cell = this.cellAt(event.clientX, event.clientY - HANDLE);
      if (!cell) return;
      this.select(moved(this.span, end, cell));
    };
    handle.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      event.stopPropagation();
      handle.setPointerCapture(event.pointerId);
    });
    handle.addEventListener("pointermove", move);
    for (const name of ["mousedown", "touchstart", "touchmove", "touchend", "click"]) handle.addEventListener(name, stop, { passive: false });
    return handle;
  }

  private place(): void {
    const { span, handles, terminal } = this;
    const screen = terminal.element?.querySelector<HTMLElement>(".xterm-screen");
    for (const end of ["from", "to"] as const) {
      const handle = handles[end];
      const row = span ? span[end].row - terminal.buffer.active.viewportY : -1;
      handle.hidden = !span || !screen || row < 0 || row >= terminal.rows;
      if (handle.hidden || !span || !screen) continue;
      const column = span[end].column + (end === "to" ? 1 : 0);
      handle.style.left = `${(column * screen.clientWidth) / terminal.cols}px`;
      handle.style.top = `${((row + 1) * screen.clientHeight) / terminal.rows}px`;
    }
  }

  /** The buffer's cell at a place on the screen; the nearest one outside. */
  private cellAt(x: number, y: number): Cell | null {
    const drawn = this.terminal.element?.querySelector(".xterm-screen")?.getBoundingClientRect();
    if (!drawn || drawn.width === 0) return null;
    const { cols, rows, buffer } = this.terminal;
    const at = (offset: number, length: number, count: number): number => Math.max(0, Math.min(count - 1, Math.floor((offset / length) * count)));
    return { column: at(x - drawn.left, drawn.width, cols), row: buffer.active.viewportY + at(y - drawn.top, drawn.height, rows) };
  }

  private cellsOf(row: number): string[] {
    const line = this.terminal.buffer.active.getLine(row);
    return Array.from({ length: this.terminal.cols }, (_, column) => {
      const cell = line?.getCell(column);
      // A cell that was never written is a blank; one without a width belongs to the sign before it.
      return cell && cell.getWidth() === 0 ? "" : cell?.getChars() || " ";
    });
  }

  private origin = { x: 0, y: 0 };
}

function stop(event: Event): void {
  event.stopPropagation();
  if (event.cancelable) event.preventDefault();
}

/** Milliseconds until a finger is held, as systems have it. */
const LONG = 450;
/** CSS pixels that a held finger may shake. */
const STEADY = 10;
/** Milliseconds. */
const VIBRATION = 10;
/** CSS pixels from the middle of a handle up to its cell. */
const HANDLE = 28;
