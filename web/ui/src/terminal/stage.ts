import type { Size } from "../protocol";
import { fittingSize, fontSize, pinchedSize, READABLE, type View } from "./fit";
import { followPinch, type Pinch } from "./pinch";
import type { Screen } from "./screen";
import { cellOf } from "./symbols";
import { LINE_HEIGHT as LINE } from "./widget";

/** What the stage tells. */
export interface StageListener {
  /** A finger scrolled by lines, up where negative, and the view is at its edge. */
  scrolled(lines: number): void;
  /** A person has pinched the letters to a size. */
  pinched(fontSize: number): void;
  /** The letters or the space for them have changed. */
  fitted(): void;
}

/** Lays a screen of a given size out in the space there is: font size, panning, and the cursor kept in view. */
export class Stage {
  private chosen: View = "whole";
  private letters = READABLE;
  private height = 0;
  private following = true;
  private measured: Measured | null = null;
  private readonly observer = new ResizeObserver(() => this.resized());
  private readonly drawnObserver = new ResizeObserver(() => this.moved());
  private readonly listeners = new AbortController();

  constructor(
    private readonly scroller: HTMLElement,
    private readonly screen: Screen,
    private readonly host: HTMLElement,
    private readonly listener: StageListener,
  ) {
    const { signal } = this.listeners;
    this.observer.observe(scroller);
    if (screen.element) this.drawnObserver.observe(screen.element);
    scroller.addEventListener("scroll", () => this.scrolled(), { signal, passive: true });
    followPinch(scroller, { pinching: (pinch) => this.preview(pinch), pinched: (pinch) => this.pinch(pinch) }, signal);
    scrollByTouch(scroller, screen, (lines) => listener.scrolled(lines), signal);
  }

  /** How the session is looked at. */
  set view(view: View) {
    this.chosen = view;
    this.following = true;
    this.fit();
  }

  /** The font size of letters of a good size, in CSS pixels. */
  set readable(pixels: number) {
    this.letters = pixels;
    this.fit();
  }

  /** Chooses the font size; the on-screen keyboard is no reason for another one. */
  fit(): void {
    const space = { ...this.space(), ...this.screen.size };
    if (space.width > 0) this.screen.fontSize = fontSize(this.chosen, space, this.letters);
    this.moved();
    this.listener.fitted();
  }

  /** The size that a session would have to fit this screen, in letters of a good size. */
  fittingSize(): Size {
    return fittingSize(this.space(), this.letters);
  }

  /** Whether a wheel or finger that goes this way would move the view, not the lines in it. */
  canPan(down: boolean): boolean {
    return !isAtEdge(this.scroller, down);
  }

  /** Moves the view by cells, to the right and down where positive; false where it is at its edge both ways. */
  pan(right: number, down: number): boolean {
    const { scroller, screen } = this;
    const { scrollLeft, scrollTop } = scroller;
    const step = screen.fontSize * LINE;
    scroller.scrollTo({ left: scrollLeft + right * step, top: scrollTop + down * step, behavior: "instant" });
    return scroller.scrollLeft !== scrollLeft || scroller.scrollTop !== scrollTop;
  }

  /** Less room while somebody types is an on-screen keyboard that opens: what is typed is to be seen. */
  private resized(): void {
    const { clientHeight } = this.scroller;
    if (clientHeight < this.height && this.host.contains(document.activeElement)) this.following = true;
    this.height = clientHeight;
    this.fit();
  }

  /** As it is without an on-screen keyboard. */
  private space(): { width: number; height: number; cellWidth: number; cellHeight: number } {
    const { width, ascent, descent } = cellOf(getComputedStyle(this.scroller).getPropertyValue("--mono"));
    return {
      width: this.scroller.clientWidth - PADDING,
      height: this.scroller.clientHeight + keyboardHeight() * shareOfHeight(this.scroller) - PADDING,
      cellWidth: width,
      cellHeight: (ascent + descent) * LINE,
    };
  }

  /** Moves the view to the cursor, unless a person has moved it away. */
  keepCursor(): void {
    if (this.following) this.showCursor();
  }

  /** Moves the view to the cursor, and follows it from now on. */
  showCursor(): void {
    this.following = true;
    const place = this.place();
    const cell = place && this.cursorCell(place);
    if (!cell) return;
    const { left, top, width, height } = place.view;
    const right = cell.left + cell.width * LOOK_AHEAD;
    const bottom = cell.top + cell.height * 1.5;
    const wanted = { left, top };
    if (cell.left < left) wanted.left = cell.left - cell.width * LOOK_AHEAD;
    else if (right > left + width) wanted.left = right - width;
    if (cell.top < top) wanted.top = cell.top;
    else if (bottom > top + height) wanted.top = bottom - height;
    this.scrollTo(wanted, place);
  }

  dispose(): void {
    this.observer.disconnect();
    this.drawnObserver.disconnect();
    this.listeners.abort();
  }

  /** While fingers move, the picture is stretched: letters of each size in between would be laid out for nothing. */
  private preview({ scale, x, y }: Pinch): void {
    const { host } = this;
    host.style.transform = "";
    const drawn = host.getBoundingClientRect();
    host.style.transformOrigin = `${x - drawn.left}px ${y - drawn.top}px`;
    host.style.transform = `scale(${pinchedSize(this.screen.fontSize, scale) / this.screen.fontSize})`;
  }

  /** What is between the fingers stays between them. */
  private pinch({ scale, x, y }: Pinch): void {
    const { host, scroller, screen } = this;
    host.style.transform = "";
    const before = host.getBoundingClientRect();
    const outer = scroller.getBoundingClientRect();
    const size = pinchedSize(screen.fontSize, scale);
    const grown = size / screen.fontSize;
    this.listener.pinched(size);
    scroller.scrollLeft = (x - before.left) * grown - (x - outer.left);
    scroller.scrollTop = (y - before.top) * grown - (y - outer.top);
    this.measured = null;
  }

  private scrollTo(wanted: { left: number; top: number }, { view, end }: Measured): void {
    const left = Math.max(0, Math.min(end.left, wanted.left));
    const top = Math.max(0, Math.min(end.top, wanted.top));
    // The browser keeps parts of a pixel as it likes.
    if (Math.abs(left - view.left) < 1 && Math.abs(top - view.top) < 1) return;
    this.scroller.scrollTo({ left, top, behavior: "instant" });
    this.measured = null;
  }

  private scrolled(): void {
    this.measured = null;
    this.following = this.cursorIsVisible();
  }

  /** What was measured holds no more. */
  private moved(): void {
    this.measured = null;
    this.keepCursor();
  }

  private cursorIsVisible(): boolean {
    const place = this.place();
    if (!place) return true;
    const cell = this.cursorCell(place);
    const { left, top, width, height } = place.view;
    const down = cell.top + cell.height > top && cell.top < top + height;
    return down && cell.left + cell.width > left && cell.left < left + width;
  }

  /** The cursor's cell in the scroller's own coordinates. */
  private cursorCell({ drawn, cell }: Measured): Rectangle {
    const { column, row } = this.screen.cursor;
    return { left: drawn.left + column * cell.width, top: drawn.top + row * cell.height, ...cell };
  }

  /**
   * Measures where things are, unless that is known. The cursor moves with every key and every line, just when all rows
   * were drawn anew: to measure then would have the browser lay the page out once more than it does for the frame.
   */
  private place(): Measured | null {
    return (this.measured ??= this.measure());
  }

  private measure(): Measured | null {
    const { scroller } = this;
    const drawn = this.screen.element?.getBoundingClientRect();
    if (!drawn) return null;
    const outer = scroller.getBoundingClientRect();
    const { columns, rows } = this.screen.size;
    const { scrollLeft: left, scrollTop: top, clientWidth: width, clientHeight: height } = scroller;
    return {
      drawn: { left: drawn.left - outer.left + left, top: drawn.top - outer.top + top },
      cell: { width: drawn.width / columns, height: drawn.height / rows },
      view: { left, top, width, height },
      end: { left: scroller.scrollWidth - width, top: scroller.scrollHeight - height },
    };
  }
}

interface Rectangle {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Lengths in CSS pixels, in the scroller's own coordinates. */
interface Measured {
  /** Where the drawn area begins. */
  drawn: { left: number; top: number };
  cell: { width: number; height: number };
  /** What of it is on the screen. */
  view: Rectangle;
  /** How far the view goes. */
  end: { left: number; top: number };
}

/** A finger scrolls the view where it can, and the lines where the view is at its edge; a flick runs out by itself. */
function scrollByTouch(scroller: HTMLElement, screen: Screen, scrolled: (lines: number) => void, signal: AbortSignal): void {
  let last = { y: 0, at: 0 };
  let left = 0;
  let speed = 0;
  const move = (pixels: number): void => {
    left += pixels;
    const lines = Math.trunc(left / (screen.fontSize * LINE));
    if (lines === 0 || !isAtEdge(scroller, lines > 0)) return;
    scrolled(lines);
    left -= lines * screen.fontSize * LINE;
  };
  const runOut = (): void => {
    speed *= FRICTION;
    if (Math.abs(speed) < SLOWEST || signal.aborted) return;
    move(speed * FRAME);
    requestAnimationFrame(runOut);
  };
  const touch = (event: TouchEvent, act: (y: number) => void): void => {
    const [finger] = event.targetTouches;
    if (!finger || event.targetTouches.length !== 1) speed = 0;
    else act(finger.clientY);
  };
  const start = (event: TouchEvent): void =>
    touch(event, (y) => {
      [last, left, speed] = [{ y, at: event.timeStamp }, 0, 0];
    });
  const drag = (event: TouchEvent): void =>
    touch(event, (y) => {
      speed = (last.y - y) / Math.max(1, event.timeStamp - last.at);
      const pixels = last.y - y;
      last = { y, at: event.timeStamp };
      move(pixels);
    });
  const end = (event: TouchEvent): void => {
    const [rest] = event.targetTouches;
    // The finger that stays after a pinch has not moved from where the other one was.
    if (rest) return void ([last, left, speed] = [{ y: rest.clientY, at: event.timeStamp }, 0, 0]);
    // A finger that rested before it left does not flick.
    if (event.timeStamp - last.at < RESTED && !matchMedia("(prefers-reduced-motion: reduce)").matches) runOut();
  };
  // Whatever a finger touches next, it is not to run away from below it.
  document.addEventListener("touchstart", () => (speed = 0), { signal, passive: true, capture: true });
  scroller.addEventListener("touchstart", start, { signal, passive: true });
  scroller.addEventListener("touchmove", drag, { signal, passive: true });
  scroller.addEventListener("touchend", end, { signal, passive: true });
}

function isAtEdge({ scrollTop, clientHeight, scrollHeight }: HTMLElement, down: boolean): boolean {
  return down ? scrollTop + clientHeight >= scrollHeight - 1 : scrollTop <= 0;
}

/** What an on-screen keyboard covers of the page, in CSS pixels; a page that is looked at more closely is not covered. */
function keyboardHeight(): number {
  const { height, scale } = window.visualViewport ?? { height: window.innerHeight, scale: 1 };
  return Math.max(0, window.innerHeight - height * scale);
}

/** How much of a length that the page loses an element loses: tiles above each other share it. */
function shareOfHeight(element: HTMLElement): number {
  const tile = element.closest<HTMLElement>(".tile");
  const all = tile?.parentElement?.clientHeight ?? 0;
  return tile && all > 0 ? tile.clientHeight / all : 1;
}

/** Around the drawn area, both sides together. */
const PADDING = 12;
/** Columns kept in view ahead of the cursor. */
const LOOK_AHEAD = 4;
/** What of its speed a flick keeps from frame to frame. */
const FRICTION = 0.95;
/** Pixels per millisecond below which a flick stands. */
const SLOWEST = 0.05;
/** Milliseconds of a frame, as far as a flick cares. */
const FRAME = 16;
/** Milliseconds. */
const RESTED = 60;
