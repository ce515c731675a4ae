import type { Canvas } from "./display";
import type { Size } from "../protocol";

/**
 * A canvas that can stand still: what comes meanwhile waits and is drawn afterwards, in order. What waits is bounded by
 * the window of unacknowledged output, since nothing of it is acknowledged before it is drawn; a viewer that has waited
 * for longer gets a snapshot, which replaces all that waits.
 */
export class HeldCanvas implements Canvas {
  private waiting: (() => void)[] | null = null;

  constructor(private readonly canvas: Canvas) {}

  /** Stands still from here on. */
  hold(): void {
    this.waiting ??= [];
  }

  /** Draws what has waited, and goes on. */
  release(): void {
    const { waiting } = this;
    this.waiting = null;
    for (const act of waiting ?? []) act();
  }

  write(bytes: Uint8Array, drawn: () => void): void {
    this.act(() => this.canvas.write(bytes, drawn));
  }

  reset(size: Size): void {
    // Nobody will see what was to be drawn before.
    if (this.waiting) this.waiting = [];
    this.act(() => this.canvas.reset(size));
  }

  resize(size: Size): void {
    this.act(() => this.canvas.resize(size));
  }

  private act(act: () => void): void {
    if (this.waiting) this.waiting.push(act);
    else act();
  }
}
