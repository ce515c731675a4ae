/**
 * Lets a cursor blink. The widget's own way is an animation, for which the browser makes sixty frames a second, on a phone
 * too; this makes two, and none once nothing has happened for a while.
 */
export class Blink {
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Halves that are left; odd while the cursor is away. */
  private left = 0;
  /** Whether something was drawn in this half. */
  private isBusy = false;

  /**
   * @param show shows the cursor, or hides it
   * @param mayBlink whether it may, at the moment
   */
  constructor(
    private readonly show: (yes: boolean) => void,
    private readonly mayBlink: () => boolean,
  ) {}

  /** Something was drawn: the cursor is there, and blinks on later. A running timer stays, as this comes with every frame. */
  drawn(): void {
    this.isBusy = true;
    if (this.left % 2 === 1 || this.timer === undefined) this.restart();
  }

  /** The focus came or went: the cursor is there, and blinks from now on if it may. */
  restart(): void {
    this.stop();
    if (!this.mayBlink()) return;
    this.left = TIMES * 2;
    this.next();
  }

  /** The cursor is there, and stays. */
  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.left % 2 === 1) this.show(true);
    this.left = 0;
  }

  private next(): void {
    this.timer = setTimeout(() => {
      if (this.isBusy) this.left = TIMES * 2;
      else this.show((this.left -= 1) % 2 === 0);
      this.isBusy = false;
      if (this.left > 0) this.next();
      else this.timer = undefined;
    }, HALF);
  }
}

/** Milliseconds that the cursor is there, and that it is not. */
const HALF = 600;
/** After so many the cursor stays: whoever does not type for so long knows where it is. */
const TIMES = 10;
