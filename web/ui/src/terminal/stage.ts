import { fontSize, type View } from "./fit";
import type { Screen } from "./screen";

/** Lays a screen of a given size out in the space there is: font size, panning, and the cursor kept in view. */
export class Stage {
  private chosen: View = "whole";
  private following = true;
  private readonly observer = new ResizeObserver(() => this.fit());
  private readonly listeners = new AbortController();

  constructor(
    private readonly scroller: HTMLElement,
    private readonly screen: Screen,
  ) {
    const { signal } = this.listeners;
    this.observer.observe(scroller);
    scroller.addEventListener("scroll", () => (this.following = this.cursorIsVisible()), { signal, passive: true });
    scrollByTouch(scroller, screen, signal);
  }

  /** How the session is looked at. */
  set view(view: View) {
    this.chosen = view;
    this.following = true;
    this.fit();
  }

  /** Chooses the font size; the on-screen keyboard is no reason for another one. */
  fit(): void {
    const keyboard = Math.max(0, window.innerHeight - (window.visualViewport?.height ?? window.innerHeight));
    const space = {
      width: this.scroller.clientWidth - PADDING,
      height: this.scroller.clientHeight + keyboard - PADDING,
      ...this.screen.size,
      ...cellAtOnePixel(getComputedStyle(this.scroller).getPropertyValue("--mono")),
    };
    if (space.width > 0) this.screen.fontSize = fontSize(this.chosen, space);
    this.keepCursor();
  }

  /** Moves the view to the cursor, unless a person has moved it away. */
  keepCursor(): void {
    if (this.following) this.showCursor();
  }

  /** Moves the view to the cursor, and follows it from now on. */
  showCursor(): void {
    this.following = true;
    const cell = this.cursorCell();
    if (!cell) return;
    const { scroller } = this;
    const right = cell.left + cell.width * LOOK_AHEAD;
    const bottom = cell.top + cell.height * 1.5;
    if (cell.left < scroller.scrollLeft) scroller.scrollLeft = Math.max(0, cell.left - cell.width * LOOK_AHEAD);
    else if (right > scroller.scrollLeft + scroller.clientWidth) scroller.scrollLeft = right - scroller.clientWidth;
    if (cell.top < scroller.scrollTop) scroller.scrollTop = cell.top;
    else if (bottom > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = bottom - scroller.clientHeight;
  }

  dispose(): void {
    this.observer.disconnect();
    this.listeners.abort();
  }

  private cursorIsVisible(): boolean {
    const cell = this.cursorCell();
    if (!cell) return true;
    const { scrollTop, scrollLeft, clientWidth, clientHeight } = this.scroller;
    const down = cell.top + cell.height > scrollTop && cell.top < scrollTop + clientHeight;
    return down && cell.left + cell.width > scrollLeft && cell.left < scrollLeft + clientWidth;
  }

  /** The cursor's cell in the scroller's own coordinates. */
  private cursorCell(): { left: number; top: number; width: number; height: number } | null {
    const drawn = this.screen.element?.getBoundingClientRect();
    if (!drawn) return null;
    const outer = this.scroller.getBoundingClientRect();
    const { columns, rows } = this.screen.size;
    const { column, row } = this.screen.cursor;
    const width = drawn.width / columns;
    const height = drawn.height / rows;
    const left = drawn.left - outer.left + this.scroller.scrollLeft + column * width;
    return { left, top: drawn.top - outer.top + this.scroller.scrollTop + row * height, width, height };
  }
}

/** A finger scrolls the view where it can, and the scrollback where the view is at its edge. */
function scrollByTouch(scroller: HTMLElement, screen: Screen, signal: AbortSignal): void {
  let last = 0;
  let left = 0;
  const start = ({ touches }: TouchEvent): void => {
    last = touches[0]?.clientY ?? 0;
    left = 0;
  };
  const move = ({ touches }: TouchEvent): void => {
    const y = touches[0]?.clientY ?? last;
    left += last - y;
    last = y;
    const atEdge = left < 0 ? scroller.scrollTop <= 0 : scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - 1;
    const lines = Math.trunc(left / (screen.fontSize * LINE));
    if (touches.length !== 1 || !atEdge || lines === 0) return;
    screen.scrollLines(lines);
    left -= lines * screen.fontSize * LINE;
  };
  scroller.addEventListener("touchstart", start, { signal, passive: true });
  scroller.addEventListener("touchmove", move, { signal, passive: true });
}

/** The widget measures a cell in the same way: the letter W, ascent and descent of the font. */
function cellAtOnePixel(family: string): { cellWidth: number; cellHeight: number } {
  const context = document.createElement("canvas").getContext("2d");
  if (!context) return { cellWidth: 0.602, cellHeight: LINE * 1.2 };
  context.font = `100px ${family}`;
  const { width, fontBoundingBoxAscent, fontBoundingBoxDescent } = context.measureText("W");
  return { cellWidth: width / 100, cellHeight: ((fontBoundingBoxAscent + fontBoundingBoxDescent) / 100) * LINE };
}

/** The widget's line height. */
const LINE = 1.15;
/** Around the drawn area, both sides together. */
const PADDING = 12;
/** Columns kept in view ahead of the cursor. */
const LOOK_AHEAD = 4;
