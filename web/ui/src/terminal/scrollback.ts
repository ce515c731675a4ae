import type { Line, Screen, Size } from "../protocol";

/** Asks the daemon for a screen with lines above it, or for lines above a line. */
export type ReadScreen = (lines: number, before?: number) => Promise<Screen>;

/** How what is shown goes on at its lower end. */
export type Continuation =
  /** The live screen follows without a line missing in between. */
  | "joins_live"
  /** There were more lines, and they are here now. */
  | "grew"
  /** The session has another width: every line has another number. */
  | "reflowed";

/**
 * Lines of a session, from somewhere in its scrollback down to its screen as it was when last read. The daemon numbers
 * lines; pieces are put together by these numbers alone, so no line is missing or doubled, whatever is printed meanwhile.
 */
export class Scrollback {
  private page: number;

  private constructor(
    private readonly read: ReadScreen,
    private shown: Line[],
    private last: Screen,
  ) {
    this.page = FIRST_PAGE;
  }

  /** Reads the screen and the lines just above it; null where there is nothing above it to look at. */
  static async open(read: ReadScreen): Promise<Scrollback | null> {
    const scrollback = await Scrollback.still(read);
    const { alternate, top_line } = scrollback.last;
    const [first] = scrollback.shown;
    return alternate || !first || first.number >= top_line ? null : scrollback;
  }

  /** The same, with the screen alone where there is nothing above it. */
  static async still(read: ReadScreen): Promise<Scrollback> {
    const screen = await read(FIRST_PAGE);
    return new Scrollback(read, screen.lines, screen);
  }

  /** The lines, the upper first, each numbered one more than the one before it. */
  get lines(): readonly Line[] {
    return this.shown;
  }

  /** The size at which the lines were read. */
  get size(): Size {
    return this.last.size;
  }

  /** Whether there are older lines. */
  get hasOlder(): boolean {
    return (this.shown[0]?.number ?? 0) > this.last.first_line && this.shown.length < MOST_LINES;
  }

  /** Reads older lines, more each time; returns how many came. */
  async older(): Promise<number> {
    const [first] = this.shown;
    if (!first || !this.hasOlder) return 0;
    this.page = Math.min(this.page * 2, LARGEST_PAGE);
    const answer = await this.read(this.page, first.number);
    // Somebody else has put lines there meanwhile.
    if (this.shown[0] !== first) return 0;
    if (answer.size.columns !== this.size.columns) return 0;
    this.last = { ...this.last, first_line: answer.first_line };
    // The lines in between may be gone by now; what is above a hole is not shown.
    if (answer.lines.at(-1)?.number !== first.number - 1) return this.nothingOlder(first.number);
    this.shown = [...answer.lines, ...this.shown];
    return answer.lines.length;
  }

  /** Reads what was printed since. */
  async newer(): Promise<Continuation> {
    const former = this.last;
    let answer = await this.read(FIRST_PAGE);
    const screen = answer;
    let fresh = answer.lines;
    while (answer.size.columns === former.size.columns && reaches(fresh, former.top_line, answer.first_line)) {
      answer = await this.read(LARGEST_PAGE, fresh[0]?.number);
      if (answer.lines.length === 0) break;
      fresh = [...answer.lines, ...fresh];
    }
    if (answer.size.columns !== former.size.columns || screen.alternate) return "reflowed";
    const from = fresh[0]?.number ?? 0;
    // Where the daemon has trimmed lines that were never read here, nothing above them can be shown beside the rest.
    const kept = from > former.top_line ? [] : this.shown.filter(({ number }) => number < from);
    this.shown = [...kept, ...fresh];
    this.last = screen;
    return screen.top_line <= former.top_line + former.size.rows ? "joins_live" : "grew";
  }

  private nothingOlder(first: number): number {
    this.last = { ...this.last, first_line: first };
    return 0;
  }
}

/** Rows of a screen, counted from its first, both with them. */
export interface Rows {
  first: number;
  last: number;
}

/**
 * Where the rows of a screen, as it was drawn some time ago, are among lines: the line of the first row. Those that are named
 * have to be there as they were, and as many of the others as anywhere, since programs write over what they have printed.
 */
export function placeOf(rows: readonly string[], { first, last }: Rows, lines: readonly Pick<Line, "text">[]): number | null {
  const isEqual = (row: number, at: number): boolean => lines[at + row]?.text.trimEnd() === rows[row];
  let best: { at: number; equal: number } | null = null;
  for (let at = lines.length - 1 - last; at >= -first; at -= 1) {
    let equal = 0;
    for (let row = first; row <= last && isEqual(row, at); row += 1) equal += 1;
    if (equal <= last - first) continue;
    for (let row = 0; row < rows.length; row += 1) if (rows[row] !== "" && isEqual(row, at)) equal += 1;
    // Of equals the lower one: it was printed last.
    if (!best || equal > best.equal) best = { at, equal };
  }
  return best?.at ?? null;
}

/** Whether lines above the fresh ones are missing, down from a line, and still to be had. */
function reaches(fresh: Line[], down: number, oldest: number): boolean {
  const from = fresh[0]?.number ?? 0;
  return from > down && from > oldest;
}

/** Lines: a few screens, quick on the slowest link. */
const FIRST_PAGE = 100;
/** Lines; as text, some 200 KB. */
const LARGEST_PAGE = 1000;
/** Lines on one page; above that, a recording is the better way to look. */
const MOST_LINES = 50_000;
