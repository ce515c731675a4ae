import { computed, effect, signal, untracked } from "@preact/signals";
import { lastDeleted } from "../home/list";
import { verdict } from "../keys/access";
import { navigate, route } from "../router";
import type { Side } from "../ui/tile";
import { closed, neighbour, parseTiles, places, sessionsIn, shared, shown, split, type Direction, type Path, type Tiles } from "./tiles";

/** The sessions that a wide screen shows: as this window had them last; a new one begins with those that the browser changed last. */
export const tiles = signal<Tiles | null>(null);

/** The session that keys go to, which is that of the address; null where they go to none. */
export const focused = computed(() => (route.value.kind === "session" ? route.value.id : null));

/** Counts up when a person sends the keys to a session from elsewhere. */
export const calls = signal(0);

/** Whether there is space for the desktop's layout. */
export const isWide = signal(false);

/** The space for all tiles, in CSS pixels. */
export const area = signal({ width: 0, height: 0 });

/** Where a session that is asked for goes: into the place that has the keys, or beside it. */
export type Where = "here" | Side;

/** Takes up the tiles that another run of the app left, and follows window and address from then on; once, at the start. */
export function startWorkspace(): void {
  tiles.value = parseTiles(sessionStorage.getItem(TILES) ?? localStorage.getItem(TILES));
  const wide = matchMedia(WIDE);
  isWide.value = wide.matches;
  wide.addEventListener("change", ({ matches }) => (isWide.value = matches));
  effect(() => {
    const session = focused.value;
    if (session !== null && isWide.value && !verdict.value) untracked(() => follow(session));
  });
  effect(() => {
    const deleted = lastDeleted.value;
    if (deleted) untracked(() => close(deleted.id));
  });
}

/** Whether there is space for another tile beside one. */
export function fits(session: string, side: Side): boolean {
  const { width = 0, height = 0 } = places(tiles.value).get(session) ?? {};
  if (side === "right") return width * area.value.width >= 2 * LEAST_WIDTH;
  return height * area.value.height >= 2 * LEAST_HEIGHT;
}

/** Shows a session where it is wanted and has space, else in the place that has the keys; and gives it the keys. */
export function show(session: string, where: Where = "here"): void {
  const { value } = tiles;
  const at = lastShown();
  if (where !== "here" && isWide.peek() && value !== null && at !== null && fits(at, where)) keep(split(value, at, where, session));
  if (focused.peek() === session) calls.value += 1;
  else navigate(`/s/${session}`);
}

/** The keys are in a tile: a person went there by pointer or Tab. */
export function enter(session: string): void {
  if (focused.peek() === session) return;
  entering = session;
  navigate(`/s/${session}`, focused.peek() === null ? "push" : "replace");
  entering = null;
}

/** Gives the keys to the tile in a direction, or to the one that had them where none has. */
export function goTowards(direction: Direction): void {
  const { value } = tiles;
  const at = focused.peek();
  if (value === null) return;
  const next = at === null ? lastShown() : (neighbour(value, at, direction) ?? at);
  if (next !== null) show(next);
}

/** Takes a session off the screen; the keys go to one that is still there. */
export function close(session: string): void {
  const { value } = tiles;
  const order = sessionsIn(value);
  const at = order.indexOf(session);
  if (value === null || at < 0) return;
  keep(closed(value, session));
  if (focused.peek() !== session) return;
  const next = order[at - 1] ?? order[at + 1];
  navigate(next === undefined ? "/" : `/s/${next}`, "replace");
}

/** Takes the sessions off the screen that are no more, but for one that a person asked for by its address. */
export function prune(existing: ReadonlySet<string>): void {
  for (const session of sessionsIn(tiles.peek())) {
    if (!existing.has(session) && session !== focused.peek()) close(session);
  }
}

/** The session that has the keys, or had them last, as long as it is on the screen. */
export function lastShown(): string | null {
  const present = sessionsIn(tiles.peek());
  return last !== null && present.includes(last) ? last : (present[0] ?? null);
}

/** Moves the line between two halves. */
export function share(path: Path, part: number): void {
  const { value } = tiles;
  if (value !== null) keep(shared(value, path, part));
}

/** Forgets what was shown: this device is trusted no more. */
export function clearTiles(): void {
  tiles.value = null;
  last = null;
  for (const storage of [sessionStorage, localStorage]) storage.removeItem(TILES);
}

/** The address names a session: it gets a place. */
function follow(session: string): void {
  const before = tiles.peek();
  const after = shown(before, session, last);
  last = session;
  if (after !== before) keep(after);
  if (session !== entering) calls.value += 1;
}

function keep(after: Tiles | null): void {
  tiles.value = after;
  // Two windows show what each is for: neither is to find the other's tiles when it is loaded again.
  for (const storage of [sessionStorage, localStorage]) storage.setItem(TILES, JSON.stringify(after));
}

/** The session that had the keys last. */
let last: string | null = null;
/** The session whose tile the keys are in already. */
let entering: string | null = null;

/** CSS pixels below which a terminal is of no use. */
const LEAST_WIDTH = 300;
const LEAST_HEIGHT = 180;
const TILES = "transom.tiles";
/** A list beside a terminal of 80 columns needs this much. */
const WIDE = "(min-width: 1024px)";
