import { signal, type ReadonlySignal } from "@preact/signals";
import { isWaiting, next, retryDelay, type ConnectionEvent, type ConnectionState, type Ending, type EndReason, type LossReason } from "./machine";

/** How one run of a link came to its end. */
export type LinkEnd =
  /** Cut; `retryAfter` is the least number of seconds that the daemon asks to wait, `why` what it said. */
  | { kind: "lost"; retryAfter?: number; why?: LossReason }
  /** Over for good. */
  | Ending;

/** One run from asking the daemon to the cut; calls `opened` when what it shows is true. Never rejects. */
export type Link = (opened: () => void, signal: AbortSignal) => Promise<LinkEnd>;

/** Asks whether a live link still is: the round trip in milliseconds, or how it ended. */
export type Probe = (signal: AbortSignal) => Promise<number | LinkEnd>;

/** The world around a connection, a parameter so that tests own the time. */
export interface Surroundings {
  now(): number;
  random(): number;
  isOnline(): boolean;
  isVisible(): boolean;
  after(milliseconds: number, act: () => void): () => void;
}

/** Keeps a link open: tries, backs off, probes, wakes, and stops for good when it is over. */
export class Connection {
  private readonly current = signal<ConnectionState>({ kind: "connecting" });
  private readonly trip = signal<number | null>(null);
  private run: AbortController | null = null;
  private cancelTimer = (): void => {};
  private cancelPulse = (): void => {};
  private hiddenAt: number | null = null;
  private openedAt: number | null = null;
  /** The run that is being probed; a second probe of it would wait for the answer to the first. */
  private probed: AbortController | null = null;
  /** Cuts in a row, with no link between them that lasted. */
  private cuts = 0;

  constructor(
    private readonly link: Link,
    private readonly probe: Probe,
    private readonly surroundings: Surroundings = browserSurroundings,
  ) {}

  /** Where it stands. */
  get state(): ReadonlySignal<ConnectionState> {
    return this.current;
  }

  /** The last round trip in milliseconds; null while not measured. */
  get roundTrip(): ReadonlySignal<number | null> {
    return this.trip;
  }

  /** Begins, or tries again at once. A live link is cut and opened anew. */
  start(): void {
    if (this.current.peek().kind === "ended") return;
    this.halt();
    const run = new AbortController();
    this.run = run;
    // A try that nobody answers and nobody refuses is over at some time, too.
    this.cancelTimer = this.surroundings.after(OPENING, () => this.closed(run, { kind: "lost" }));
    void this.link(() => this.opened(run), run.signal).then((end) => this.closed(run, end));
  }

  /** Stops without a state of its own: the screen that showed it is gone. */
  halt(): void {
    this.cancelTimer();
    this.cancelPulse();
    this.run?.abort();
    this.run = null;
  }

  /** Ends for good, for example since a button said so elsewhere. */
  end(reason: EndReason): void {
    this.halt();
    this.apply({ kind: "ended", reason });
  }

  /** The page is visible again, or was brought back from the back-forward cache. */
  wake(restored = false): void {
    const asleep = this.hiddenAt === null ? 0 : this.surroundings.now() - this.hiddenAt;
    this.hiddenAt = null;
    const state = this.current.peek();
    if (state.kind === "ended") return;
    // After a longer sleep the system may have dropped the stream, or the question for one, without a word.
    if (isWaiting(state) || restored || asleep >= SLEEP_NOTICED) this.restart();
    else if (state.kind === "live") {
      this.pulse();
      this.check();
    }
  }

  /** The page is hidden. */
  sleep(): void {
    this.hiddenAt ??= this.surroundings.now();
    this.cancelPulse();
  }

  /** The system's word on the network. */
  network(online: boolean): void {
    this.apply({ kind: "network", online });
    const state = this.current.peek();
    if (online && isWaiting(state)) this.start();
    else if (state.kind === "live") this.check();
  }

  private restart(): void {
    if (this.current.peek().kind === "live") this.lose();
    this.start();
  }

  private opened(run: AbortController): void {
    if (this.run !== run) return;
    this.openedAt = this.surroundings.now();
    this.apply({ kind: "opened" });
    this.probeIn(FIRST_PROBE);
    this.pulse();
  }

  /** Notices that the whole machine slept while the page was looked at, as behind a closed lid: nobody tells the page. */
  private pulse(): void {
    const due = this.surroundings.now() + PULSE;
    this.cancelPulse();
    this.cancelPulse = this.surroundings.after(PULSE, () => {
      // A hidden page's timers are late by themselves, and it is asked when it is looked at again.
      if (!this.surroundings.isVisible() || this.hiddenAt !== null) return;
      if (this.surroundings.now() - due >= SLEPT) this.restart();
      else this.pulse();
    });
  }

  private closed(run: AbortController, end: LinkEnd): void {
    if (this.run !== run) return;
    this.halt();
    this.trip.value = null;
    if (end.kind === "ended") this.apply(end);
    else this.retry(end);
  }

  private retry({ retryAfter = 0, why }: Extract<LinkEnd, { kind: "lost" }>): void {
    this.lose(why);
    if (!isWaiting(this.current.peek())) return;
    this.cuts += 1;
    const delay = Math.max(retryDelay(this.cuts, this.surroundings.random()), retryAfter * 1000);
    this.cancelTimer = this.surroundings.after(delay, () => this.start());
  }

  private lose(why?: LossReason): void {
    const { surroundings } = this;
    // A daemon that takes every link and cuts it at once is not asked at the pace of the first try for ever.
    if (this.openedAt !== null && surroundings.now() - this.openedAt >= LASTING) this.cuts = 0;
    this.openedAt = null;
    this.apply({ kind: "lost", at: surroundings.now(), online: surroundings.isOnline(), ...(why ? { why } : {}) });
  }

  /** Probes now, unless that is under way, and again and again while the page is looked at. */
  private check(): void {
    this.cancelTimer();
    const run = this.run;
    if (!run || this.probed === run) return;
    this.probed = run;
    void this.probe(run.signal).then((result) => {
      if (this.run !== run) return;
      this.probed = null;
      if (typeof result !== "number") return this.closed(run, result);
      this.trip.value = result;
      this.probeIn(PROBE_EVERY);
    });
  }

  private probeIn(milliseconds: number): void {
    this.cancelTimer();
    this.cancelTimer = this.surroundings.after(milliseconds, () => {
      if (this.surroundings.isVisible()) this.check();
    });
  }

  private apply(event: ConnectionEvent): void {
    this.current.value = next(this.current.peek(), event);
  }
}

const browserSurroundings: Surroundings = {
  now: () => Date.now(),
  random: () => Math.random(),
  isOnline: () => navigator.onLine,
  isVisible: () => document.visibilityState === "visible",
  after(milliseconds, act) {
    const timer = setTimeout(act, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** Milliseconds until the first probe: what the page still draws would count as the network's. */
const FIRST_PROBE = 400;
/** A stream that died silently is noticed within this many milliseconds, while somebody looks. */
const PROBE_EVERY = 10_000;
/** Milliseconds hidden after which a live link is opened anew rather than trusted. */
const SLEEP_NOTICED = 5_000;
/** Milliseconds until a try counts as unanswered: a screen takes as long on the slowest link, and what it asks before has bounds of its own. */
const OPENING = 30_000;
/** Milliseconds by which such a look is late after a sleep; a busy page is not that late. */
const SLEPT = 15_000;
/** Milliseconds between two looks at the clock, while somebody looks at the page. */
const PULSE = 2_000;
/** Milliseconds after which a link counts as one that lasted: its cut is the first. */
const LASTING = 5_000;
