import { signal } from "@preact/signals";
import type { Size } from "../protocol";
import { matchesIn, stepTo, type Match } from "./matches";
import { Pane } from "./pane";
import type { Selection } from "./selection";
import { placeOf, Scrollback, type ReadScreen, type Rows } from "./scrollback";
import type { Cell } from "./words";

/** Where somebody looks. */
export type Looking =
  /** At the live screen. */
  | "live"
  /** At the live screen, while lines above it are on their way. */
  | "reading"
  /** At lines that stand still, while the program runs on. */
  | "back"
  /** At the live screen, since lines above it could not be had. */
  | "failed";

/** Where a text was found. */
export interface Found {
  /** Which of the places it is, counted from the lower end. */
  place: number;
  /** How many places the lines that were read have. */
  of: number;
  /** Whether there are lines above that were not read yet. */
  hasOlder: boolean;
}

/** What looking back needs of the rest. */
export interface Surface {
  host: HTMLElement;
  read: ReadScreen;
  fontSize(): number;
  typed(text: string): void;
  /** A person pressed a key over lines that stand still; whether it was taken. */
  key(event: KeyboardEvent): boolean;
  /** A person selected something, or let go of it. */
  selected(): void;
  /** A finger that selects is at an edge: cells to go on, to the right and down where positive. */
  pushed(right: number, down: number): void;
}

/** Scrolling up from the live screen into scrollback, which is asked for then, and down again. */
export class LookBack {
  readonly looking = signal<Looking>("live");
  private scrollback: Scrollback | null = null;
  private pane: Pane | null = null;
  /** Lines scrolled while the first ones were on their way. */
  private pending = 0;
  /** Lines that are on their way to be shown first; asked for once, whoever wants them. */
  private opening: Promise<boolean> | null = null;
  /** An answer that is waited for; one at a time keeps the lines in order. */
  private working: Promise<boolean> | null = null;
  /** Whether where the view stands says nothing of what a person wants. */
  private isBusy = false;
  /** Whether the view stands still at its lower end too. */
  private isStill = false;
  /** Where the text that is looked for was found last. */
  private found: Match | null = null;
  /** Counts up when all that was asked for has become idle. */
  private visit = 0;

  constructor(private readonly surface: Surface) {}

  /** Scrolls by lines, up where negative. */
  scroll(lines: number): void {
    if (this.pane) return this.pane.scroll(lines);
    this.pending = Math.min(0, this.pending + lines);
    if (this.pending < 0 && this.looking.peek() !== "reading") void this.open(Scrollback.open);
  }

  /** What is selected of the lines that stand still; null where none do. */
  get selection(): Selection | null {
    return this.pane?.selection ?? null;
  }

  /**
   * Scrolls up from a live screen on which something is selected: shows its rows, among lines that stand still. Resolves
   * with how many rows further down they are in there; null where they are gone, or cannot be had.
   */
  async take(rows: readonly string[], selected: Rows, lines: number): Promise<number | null> {
    this.isStill = true;
    this.pending += lines;
    let at: number | null = null;
    const find = async (scrollback: Scrollback): Promise<number | null> => {
      for (;;) {
        at = placeOf(rows, selected, scrollback.lines);
        if (at !== null || !scrollback.hasOlder || scrollback.lines.length > FARTHEST) return at;
        if ((await scrollback.older()) === 0) return null;
      }
    };
    return (await this.open(Scrollback.still, find)) ? at : null;
  }

  /**
   * Goes to the next place of a text, up or down, and reads older lines until there is one. The view stands still from
   * here on. Null where there is none.
   */
  async find(text: string, step: "up" | "down"): Promise<Found | null> {
    this.isStill = true;
    if (!this.pane && !(await this.open(Scrollback.still))) return null;
    for (;;) {
      const { scrollback, pane } = this;
      if (!scrollback || !pane) return null;
      const matches = matchesIn(scrollback.lines, text);
      const at = stepTo(matches, this.found, step);
      const match = at === null ? null : matches[at];
      if (match && at !== null) {
        this.found = match;
        const first = scrollback.lines[0]?.number ?? 0;
        const inPane = ({ column, row }: Cell): Cell => ({ column, row: row - first });
        pane.mark({ from: inPane(match.from), to: inPane(match.to) });
        return { place: matches.length - at, of: matches.length, hasOlder: scrollback.hasOlder };
      }
      if (step === "down" || !scrollback.hasOlder) return null;
      if (this.working) {
        // What it brings is looked through first.
        await this.working;
        continue;
      }
      const top = scrollback.lines[0];
      const hasCome = await this.busy((lines, shown) => this.goUp(lines, shown));
      if (!hasCome || scrollback.lines[0] === top) return null;
    }
  }

  /** Another text is looked for, from the lower end. */
  findAnew(): void {
    this.found = null;
  }

  /** Back to the live screen. */
  leave(): void {
    this.visit += 1;
    this.isStill = false;
    this.found = null;
    this.isBusy = false;
    this.opening = null;
    this.working = null;
    this.pending = 0;
    this.pane?.dispose();
    this.pane = null;
    this.scrollback = null;
    this.looking.value = "live";
    this.surface.selected();
  }

  /** The live screen has a size now: lines of another width have other numbers. */
  resized({ columns, rows }: Size): void {
    const size = this.scrollback?.size;
    if (size && (size.columns !== columns || size.rows !== rows)) this.leave();
  }

  /** The live screen has another font size. */
  fit(): void {
    if (this.pane) this.pane.fontSize = this.surface.fontSize();
  }

  /**
   * Reads lines and shows them, with as many above the view as is found out: those of the screen are in it by themselves.
   * False where there are none to show, or somebody has left meanwhile.
   */
  private open(read: (screen: ReadScreen) => Promise<Scrollback | null>, above = atScreen): Promise<boolean> {
    if (this.opening) return this.opening;
    const opening = this.reads(read, above).finally(() => {
      if (this.opening === opening) this.opening = null;
    });
    this.opening = opening;
    return opening;
  }

  private async reads(read: (screen: ReadScreen) => Promise<Scrollback | null>, above: typeof atScreen): Promise<boolean> {
    this.looking.value = "reading";
    const { visit } = this;
    try {
      const scrollback = await read(this.surface.read);
      if (visit !== this.visit) return false;
      const at = scrollback && (await above(scrollback));
      if (visit !== this.visit) return false;
      if (scrollback && at !== null) {
        this.scrollback = scrollback;
        await this.show(scrollback, at, visit);
      } else this.leave();
    } catch {
      if (visit !== this.visit) return false;
      this.leave();
      this.looking.value = "failed";
    }
    return visit === this.visit && this.pane !== null;
  }

  private async show(scrollback: Scrollback, above: number, visit: number): Promise<void> {
    const { surface } = this;
    const pane = new Pane(surface.host, scrollback.size, surface.fontSize(), {
      moved: (above, below) => this.moved(above, below),
      typed: (text) => surface.typed(text),
      key: (event) => surface.key(event),
      selected: () => surface.selected(),
      pushed: (right, down) => surface.pushed(right, down),
    });
    // Until the pane has moved from the bottom, being there is no wish to leave.
    this.isBusy = true;
    await pane.show(scrollback.lines, Math.max(0, above));
    if (visit !== this.visit) return pane.dispose();
    this.pane = pane;
    this.looking.value = "back";
    pane.scroll(this.pending);
    this.isBusy = false;
    this.moved(pane.above, scrollback.lines.length - scrollback.size.rows - pane.above);
  }

  private moved(above: number, below: number): void {
    if (this.isBusy || !this.scrollback || !this.pane) return;
    if (below <= 0 && !this.isStill && !this.pane.selection.isThere) void this.busy((scrollback, pane) => this.goDown(scrollback, pane));
    else if (above < NEAR && this.scrollback.hasOlder) void this.busy((scrollback, pane) => this.goUp(scrollback, pane));
  }

  private async goUp(scrollback: Scrollback, pane: Pane): Promise<void> {
    const added = await scrollback.older();
    if (added > 0 && pane === this.pane) await pane.show(scrollback.lines, pane.above + added, added);
  }

  private async goDown(scrollback: Scrollback, pane: Pane): Promise<void> {
    const first = scrollback.lines[0]?.number ?? 0;
    if ((await scrollback.newer()) !== "grew") return this.leave();
    const trimmed = (scrollback.lines[0]?.number ?? 0) - first;
    if (pane === this.pane) await pane.show(scrollback.lines, Math.max(0, pane.above - trimmed), -trimmed);
  }

  /** Does what waits for an answer, after what is done already; false where that did not come. */
  private async busy(act: (scrollback: Scrollback, pane: Pane) => Promise<void>): Promise<boolean> {
    if (this.working) return this.working;
    const { scrollback, pane, visit } = this;
    if (!scrollback || !pane) return false;
    this.isBusy = true;
    const working = act(scrollback, pane).then(
      () => visit === this.visit,
      // What is there stays; scrolling on asks again.
      () => false,
    );
    this.working = working;
    const hasCome = await working;
    if (visit === this.visit) [this.isBusy, this.working] = [false, null];
    return hasCome;
  }
}

/** The lines above the screen, where it ends what was read. */
async function atScreen({ lines, size }: Scrollback): Promise<number | null> {
  return lines.length - size.rows;
}

/** Lines that are looked through for those of a screen that has stood still while a program printed. */
const FARTHEST = 4000;
/** Lines above the view at which older ones are asked for: some screens, so that they come before they are needed. */
const NEAR = 60;
