import type { Terminal } from "@xterm/xterm";
import type { Span } from "./words";

/** An end of what is selected. */
export type End = "from" | "to";

/** What handles tell; places are those of the cell above the handle, on the page. */
export interface HandleListener {
  taken(end: End): void;
  moved(x: number, y: number): void;
  left(): void;
}

/** The ends of what a finger has selected, to be moved by it. */
export class Handles {
  private readonly elements: Record<End, HTMLElement>;
  private taken: HTMLElement | null = null;
  /** From the middle of the end's cell to the finger, which stays as far from it as it was put. */
  private grip = { x: 0, y: 0 };

  constructor(
    private readonly terminal: Terminal,
    private readonly listener: HandleListener,
  ) {
    this.elements = { from: this.make("from"), to: this.make("to") };
  }

  /** Whether something is a handle. */
  static has(target: EventTarget): boolean {
    return target instanceof Element && target.closest(".handle") !== null;
  }

  /** Puts them at the ends of a span, where these are in view. */
  place(span: Span | null): void {
    const { terminal } = this;
    const screen = terminal.element?.querySelector<HTMLElement>(".xterm-screen");
    for (const end of ["from", "to"] as const) {
      const element = this.elements[end];
      const row = span ? span[end].row - terminal.buffer.active.viewportY : -1;
      const isInView = span !== null && screen != null && row >= 0 && row < terminal.rows;
      // One that is moved stays in the page, out of sight: without it, the finger would be lost.
      element.hidden = !isInView && element !== this.taken;
      element.classList.toggle("out-of-view", !isInView);
      if (!isInView) continue;
      const column = span[end].column + (end === "to" ? 1 : 0);
      const left = (column * screen.clientWidth) / terminal.cols;
      // It hangs outwards, but where it would hang out of the screen.
      const isInside = end === "from" ? left < REACH : left > screen.clientWidth - REACH;
      element.classList.toggle("handle-to", (end === "to") !== isInside);
      element.classList.toggle("handle-from", (end === "from") !== isInside);
      element.style.left = `${left}px`;
      element.style.top = `${((row + 1) * screen.clientHeight) / terminal.rows}px`;
    }
  }

  private make(end: End): HTMLElement {
    const element = document.createElement("div");
    element.className = "handle";
    element.dataset["end"] = end;
    element.hidden = true;
    this.terminal.element?.querySelector(".xterm-screen")?.append(element);
    element.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      event.stopPropagation();
      element.setPointerCapture(event.pointerId);
      this.taken = element;
      this.grip = this.gripOf(element, end, event);
      this.listener.taken(end);
    });
    element.addEventListener("pointermove", ({ pointerId, clientX, clientY }) => {
      if (element.hasPointerCapture(pointerId)) this.listener.moved(clientX - this.grip.x, clientY - this.grip.y);
    });
    element.addEventListener("lostpointercapture", () => {
      this.taken = null;
      this.listener.left();
    });
    for (const name of ["mousedown", "touchstart", "touchmove", "touchend", "click"]) element.addEventListener(name, stop, { passive: false });
    return element;
  }

  private gripOf({ style }: HTMLElement, end: End, { clientX, clientY }: PointerEvent): { x: number; y: number } {
    const { terminal } = this;
    const drawn = terminal.element?.querySelector(".xterm-screen")?.getBoundingClientRect() ?? new DOMRect();
    const [width, height] = [drawn.width / terminal.cols, drawn.height / terminal.rows];
    const x = drawn.left + Number.parseFloat(style.left) + (end === "from" ? width / 2 : -width / 2);
    const y = drawn.top + Number.parseFloat(style.top) - height / 2;
    return { x: clientX - x, y: clientY - y };
  }
}

function stop(event: Event): void {
  event.stopPropagation();
  if (event.cancelable) event.preventDefault();
}

/** CSS pixels that a handle hangs outwards, as the style sheet has it. */
const REACH = 20;
