import type { Side } from "../ui/tile";

/** Sessions on the screen: one, or two halves. Each session is in it once at most, so its id names its tile. */
export type Tiles = string | Halves;

/** Two parts of the screen, the second on the right of the first or below it. */
export interface Halves {
  side: Side;
  /** The first part's share of the length, between 0 and 1. */
  share: number;
  first: Tiles;
  second: Tiles;
}

/** A rectangle in shares of the whole. */
export interface Place {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Where two halves meet. */
export interface Divider {
  /** The way to the halves from the whole. */
  path: Path;
  halves: Halves;
  /** The place of both halves together. */
  place: Place;
}

/** Which half to take at each step. */
export type Path = readonly ("first" | "second")[];

/** Where a person goes from a tile. */
export type Direction = "left" | "right" | "up" | "down";

/** The sessions in reading order. */
export function sessionsIn(tiles: Tiles | null): string[] {
  if (tiles === null) return [];
  return typeof tiles === "string" ? [tiles] : [...sessionsIn(tiles.first), ...sessionsIn(tiles.second)];
}

/** Shows a session: where it is, if it is on the screen; else in place of another. */
export function shown(tiles: Tiles | null, session: string, instead: string | null): Tiles {
  const present = sessionsIn(tiles);
  if (tiles === null) return session;
  if (present.includes(session)) return tiles;
  const left = instead !== null && present.includes(instead) ? instead : present[0];
  return replaced(tiles, left ?? session, session);
}

/** Shows a session beside another, in half of its space; one that is on the screen moves there. */
export function split(tiles: Tiles, at: string, side: Side, session: string): Tiles {
  if (at === session) return tiles;
  const rest = closed(tiles, session);
  return rest === null ? session : replaced(rest, at, { side, share: 0.5, first: at, second: session });
}

/** Takes a session off the screen; null where none is left. */
export function closed(tiles: Tiles, session: string): Tiles | null {
  if (typeof tiles === "string") return tiles === session ? null : tiles;
  const first = closed(tiles.first, session);
  const second = closed(tiles.second, session);
  if (first === null) return second;
  return second === null ? first : { ...tiles, first, second };
}

/** Where each session is, in reading order. */
export function places(tiles: Tiles | null, whole: Place = WHOLE): Map<string, Place> {
  if (tiles === null) return new Map();
  if (typeof tiles === "string") return new Map([[tiles, whole]]);
  const [first, second] = halvesOf(tiles, whole);
  return new Map([...places(tiles.first, first), ...places(tiles.second, second)]);
}

/** Where halves meet. */
export function dividers(tiles: Tiles | null, place: Place = WHOLE, path: Path = []): Divider[] {
  if (tiles === null || typeof tiles === "string") return [];
  const [first, second] = halvesOf(tiles, place);
  return [
    { path, halves: tiles, place },
    ...dividers(tiles.first, first, [...path, "first"]),
    ...dividers(tiles.second, second, [...path, "second"]),
  ];
}

/** Gives the first of two halves another share; neither gets less than a tenth. */
export function shared(tiles: Tiles, path: Path, share: number): Tiles {
  if (typeof tiles === "string") return tiles;
  const [step, ...rest] = path;
  if (step === undefined) return { ...tiles, share: Math.min(1 - LEAST_SHARE, Math.max(LEAST_SHARE, share)) };
  return { ...tiles, [step]: shared(tiles[step], rest, share) };
}

/** The session on the other side of a tile's edge, the nearest to its middle; null at the edge of the screen. */
export function neighbour(tiles: Tiles, from: string, direction: Direction): string | null {
  const all = places(tiles);
  const here = all.get(from);
  if (!here) return null;
  const beyond = [...all].filter(([, there]) => isBeyond(here, there, direction));
  return beyond.sort(([, a], [, b]) => distance(here, a) - distance(here, b))[0]?.[0] ?? null;
}

/** Reads what was kept; null where that is no layout of sessions, or shows one of them twice. */
export function parseTiles(text: string | null): Tiles | null {
  try {
    const read: unknown = JSON.parse(text ?? "null");
    if (!isTiles(read)) return null;
    const sessions = sessionsIn(read);
    return new Set(sessions).size === sessions.length ? read : null;
  } catch {
    return null;
  }
}

function isTiles(read: unknown): read is Tiles {
  if (typeof read === "string") return SESSION.test(read);
  if (typeof read !== "object" || read === null) return false;
  const { side, share, first, second } = read as Partial<Record<keyof Halves, unknown>>;
  const isShare = typeof share === "number" && share >= LEAST_SHARE && share <= 1 - LEAST_SHARE;
  return (side === "right" || side === "below") && isShare && isTiles(first) && isTiles(second);
}

function replaced(tiles: Tiles, session: string, by: Tiles): Tiles {
  if (typeof tiles === "string") return tiles === session ? by : tiles;
  return { ...tiles, first: replaced(tiles.first, session, by), second: replaced(tiles.second, session, by) };
}

function halvesOf({ side, share }: Halves, { left, top, width, height }: Place): [Place, Place] {
  if (side === "right") {
    const cut = width * share;
    return [{ left, top, width: cut, height }, { left: left + cut, top, width: width - cut, height }];
  }
  const cut = height * share;
  return [{ left, top, width, height: cut }, { left, top: top + cut, width, height: height - cut }];
}

/** Whether a place begins behind an edge of another, somewhere along that edge. */
function isBeyond(here: Place, there: Place, direction: Direction): boolean {
  const alongside = overlap(here.top, here.height, there.top, there.height);
  const aligned = overlap(here.left, here.width, there.left, there.width);
  switch (direction) {
    case "left":
      return alongside && there.left + there.width <= here.left + NOTHING;
    case "right":
      return alongside && there.left >= here.left + here.width - NOTHING;
    case "up":
      return aligned && there.top + there.height <= here.top + NOTHING;
    case "down":
      return aligned && there.top >= here.top + here.height - NOTHING;
  }
}

function overlap(a: number, aLength: number, b: number, bLength: number): boolean {
  return a < b + bLength - NOTHING && b < a + aLength - NOTHING;
}

function distance(a: Place, b: Place): number {
  return Math.hypot(a.left + a.width / 2 - b.left - b.width / 2, a.top + a.height / 2 - b.top - b.height / 2);
}

const WHOLE: Place = { left: 0, top: 0, width: 1, height: 1 };
const LEAST_SHARE = 0.1;
/** Less than this is the inexactness of sums. */
const NOTHING = 1e-6;
const SESSION = /^ses_[0-9a-f]{16}$/;
