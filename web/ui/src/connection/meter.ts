/** What a connection does at the moment; for people who want to know why it feels as it does. */
export interface Figures {
  /** Updates that arrived in the last second. */
  perSecond: number;
  /** Milliseconds from the last arrival that was drawn to its drawing; null before the first. */
  toPaint: number | null;
  /** Bytes that arrived and are not drawn yet: what of the daemon's window is in use here. */
  waiting: number;
}

/** Counts arrivals and drawings. Offsets are absolute, times are milliseconds of one clock. */
export class Meter {
  /** Arrivals of the last tenths of a second, each at its number modulo their count. */
  private readonly tenths = new Array<number>(TENTHS).fill(0);
  private newest = 0;
  private undrawn: { offset: number; at: number }[] = [];
  private toPaint: number | null = null;
  private arrivedTo = 0;
  private drawnTo: number | null = null;

  /** Everything before the offset is here. */
  arrived(offset: number, now: number): void {
    this.drawnTo ??= offset;
    // After a snapshot or a reconnect offsets may begin elsewhere.
    if (offset < this.arrivedTo) this.undrawn = [];
    this.arrivedTo = offset;
    this.tenths[this.tenthAt(now)]! += 1;
    if (this.undrawn.length < MOST) this.undrawn.push({ offset, at: now });
  }

  /** Everything before the offset is on the screen. */
  drawn(offset: number, now: number): void {
    this.drawnTo = offset;
    const done = this.undrawn.filter((update) => update.offset <= offset);
    this.undrawn = this.undrawn.slice(done.length);
    const last = done.at(-1);
    if (last) this.toPaint = now - last.at;
  }

  /** How it stands. */
  figures(now: number): Figures {
    this.tenthAt(now);
    const perSecond = this.tenths.reduce((sum, count) => sum + count, 0);
    return { perSecond, toPaint: this.toPaint, waiting: Math.max(0, this.arrivedTo - (this.drawnTo ?? 0)) };
  }

  /** The place of a time; those of tenths that passed without an arrival are empty by then. */
  private tenthAt(now: number): number {
    const tenth = Math.floor(now / 100);
    for (let passed = Math.max(this.newest + 1, tenth - TENTHS + 1); passed <= tenth; passed += 1) this.tenths[passed % TENTHS] = 0;
    this.newest = Math.max(this.newest, tenth);
    return tenth % TENTHS;
  }
}

const TENTHS = 10;
/** Updates that are remembered until they are drawn; a page that is further behind shows that by the bytes that wait. */
const MOST = 1000;
