/** When to tell the daemon how far the screen is drawn. */
export class Acks {
  private drawn = 0;
  private told = 0;
  private waiting = false;

  /**
   * @param send tells the daemon
   * @param soon runs an action before the next frame, or a little later where there are no frames
   */
  constructor(
    private readonly send: (offset: number) => void,
    private readonly soon: (act: () => void) => void,
  ) {}

  /** A new attachment has heard of nothing yet. */
  restart(): void {
    this.told = 0;
  }

  /** Everything before the offset is drawn. Told once a frame, and at once where much was drawn since. */
  advance(offset: number): void {
    this.drawn = offset;
    if (this.drawn - this.told >= AT_ONCE) this.tell();
    else if (!this.waiting) {
      this.waiting = true;
      this.soon(() => {
        this.waiting = false;
        this.tell();
      });
    }
  }

  private tell(): void {
    if (this.drawn === this.told) return;
    this.told = this.drawn;
    this.send(this.drawn);
  }
}

/** Bytes; well below the largest window (512 KiB), so that a fast viewer never waits for its own acks. */
const AT_ONCE = 64 * 1024;
