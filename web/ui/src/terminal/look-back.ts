import { signal } from "@preact/signals";
import type { Size } from "../protocol";
import { Pane } from "./pane";
import type { Selection } from "./selection";
import { Scrollback, type ReadScreen } from "./scrollback";

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

/** What looking back needs of the rest. */
export interface Surface {
  host: HTMLElement;
  read: ReadScreen;
  fontSize(): number;
  typed(text: string): void;
  /** A person selected something, or let go of it. */
  selected(): void;
}

/** Scrolling up from the live screen into scrollback, which is asked for then, and down again. */
export class LookBack {
  readonly looking = signal<Looking>("live");
  private scrollback: Scrollback | null = null;
  private pane: Pane | null = null;
  /** Lines scrolled while the first ones were on their way. */
  private pending = 0;
  /** Whether an answer is waited for; one at a time keeps the lines in order. */
  private isBusy = false;
  /** Counts up when all that was asked for has become idle. */
  private visit = 0;

  constructor(private readonly surface: Surface) {}

  /** Scrolls by lines, up where negative. */
  scroll(lines: number): void {
    if (this.pane) return this.pane.scroll(lines);
    this.pending = Math.min(0, this.pending + lines);
    if (this.pending < 0 && this.looking.peek() !== "reading") void this.open();
  }

  /** What is selected of the lines that stand still; null where none do. */
  get selection(): Selection | null {
    return this.pane?.selection ?? null;
  }

  /** Back to the live screen. */
  leave(): void {
    this.visit += 1;
    this.isBusy = false;
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

  private async open(): Promise<void> {
    this.looking.value = "reading";
    const { visit } = this;
    try {
      const scrollback = await Scrollback.open(this.surface.read);
      if (visit !== this.visit) return;
      if (!scrollback) return this.leave();
      this.scrollback = scrollback;
      await this.show(scrollback, visit);
    } catch {
      if (visit !== this.visit) return;
      this.leave();
      this.looking.value = "failed";
    }
  }

  private async show(scrollback: Scrollback, visit: number): Promise<void> {
    const { surface } = this;
    const pane = new Pane(surface.host, scrollback.size, surface.fontSize(), {
      moved: (above, below) => this.moved(above, below),
      typed: (text) => surface.typed(text),
      selected: () => surface.selected(),
    });
    const top = scrollback.lines.length - scrollback.size.rows;
    // Until the pane has moved from the bottom, being there is no wish to leave.
    this.isBusy = true;
    await pane.show(scrollback.lines, top);
    if (visit !== this.visit) return pane.dispose();
    this.pane = pane;
    this.looking.value = "back";
    pane.scroll(this.pending);
    this.isBusy = false;
    this.moved(pane.above, top - pane.above);
  }

  private moved(above: number, below: number): void {
    if (this.isBusy || !this.scrollback || !this.pane) return;
    if (below <= 0) void this.busy((scrollback, pane) => this.goDown(scrollback, pane));
    else if (above < NEAR && this.scrollback.hasOlder) void this.busy((scrollback, pane) => this.goUp(scrollback, pane));
  }

  private async goUp(scrollback: Scrollback, pane: Pane): Promise<void> {
    const added = await scrollback.older();
    if (added > 0 && pane === this.pane) await pane.show(scrollback.lines, pane.above + added);
  }

  private async goDown(scrollback: Scrollback, pane: Pane): Promise<void> {
    const first = scrollback.lines[0]?.number ?? 0;
    if ((await scrollback.newer()) !== "grew") return this.leave();
    const trimmed = (scrollback.lines[0]?.number ?? 0) - first;
    if (pane === this.pane) await pane.show(scrollback.lines, Math.max(0, pane.above - trimmed));
  }

  private async busy(act: (scrollback: Scrollback, pane: Pane) => Promise<void>): Promise<void> {
    const { scrollback, pane, visit } = this;
    if (!scrollback || !pane) return;
    this.isBusy = true;
    try {
      await act(scrollback, pane);
    } catch {
      // What is there stays; scrolling on asks again.
    } finally {
      if (visit === this.visit) this.isBusy = false;
    }
  }
}

/** Lines above the view at which older ones are asked for: some screens, so that they come before they are needed. */
const NEAR = 60;
