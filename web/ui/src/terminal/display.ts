import type { Size } from "../protocol";

/** What draws bytes; the terminal widget, or a fake in tests. Every call acts after the ones before it. */
export interface Canvas {
  /** Draws bytes and says when they are drawn. */
  write(bytes: Uint8Array, drawn: () => void): void;
  /** Empties everything, whatever state the parser is in, and takes a size. */
  reset(size: Size): void;
  /** Takes a size. */
  resize(size: Size): void;
}

/** Keeps what is drawn and the offsets of the output in step. */
export class Display {
  private end: number | null = null;
  private broken = false;

  /**
   * @param canvas what draws
   * @param drawn hears up to which offset everything is drawn
   */
  constructor(
    private readonly canvas: Canvas,
    private readonly drawn: (offset: number) => void,
  ) {}

  /** Whether output is missing, so that nothing that follows can be drawn. */
  get isBroken(): boolean {
    return this.broken;
  }

  /**
   * Another connection begins: what the one before it missed is missing no more. Returns the offset from which output
   * can go on; null where only a snapshot helps.
   */
  begin(): number | null {
    this.broken = false;
    return this.end;
  }

  /** What is drawn belongs to something else: start from a snapshot. */
  forget(): void {
    this.end = null;
  }

  /** Replaces everything by a snapshot, from whose ground offset output goes on. */
  snapshot(ground: number, size: Size, bytes: Uint8Array): void {
    this.end = ground;
    this.broken = false;
    this.canvas.reset(size);
    this.canvas.write(bytes, () => this.drawn(ground));
  }

  /** Draws output; what was drawn before is left out. False where bytes before it are missing. */
  output(offset: number, bytes: Uint8Array): boolean {
    if (this.end === null || offset > this.end) {
      this.end = null;
      this.broken = true;
      return false;
    }
    const fresh = bytes.subarray(this.end - offset);
    const end = Math.max(this.end, offset + bytes.length);
    this.end = end;
    this.canvas.write(fresh, () => this.drawn(end));
    return true;
  }

  /** The session's size from here on. */
  resize(size: Size): void {
    this.canvas.resize(size);
  }
}
