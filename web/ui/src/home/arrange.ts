import type { Session } from "../protocol";
import type { Route } from "../router";
import { ordered, waits } from "./list";

/** Rows that belong together. */
export interface Group {
  /** What tells it from the others. */
  key: string;
  /** What stands above it; null where there is one group only, or what is in it came while the rows stood still. */
  title: string | null;
  rows: readonly Place[];
}

/** A row's place in the list. */
export interface Place {
  session: Session;
  /** The session as it was when the rows came to stand still: as many lines as it had then are shown now. */
  stood: Session;
  /** Whether the session is listed no more, and only its place is kept. */
  isGone: boolean;
}

/** Whether a session has every word that a person looks for, in whatever is known of it by name. */
export function matches(session: Session, query: string): boolean {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const { name, command, args, cwd, title, note, labels, attention } = session;
  const known = [name, command, ...args, cwd, title, note?.text, attention.message, ...Object.entries(labels).map((label) => label.join("="))];
  const text = known.join("\n").toLowerCase();
  return words.every((word) => text.includes(word));
}

/** The names of labels that tell sessions apart, those of the most sessions first. */
export function labelNames(sessions: Iterable<Session>): string[] {
  const counts = new Map<string, number>();
  for (const { labels } of sessions) for (const name of Object.keys(labels)) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort(([a, one], [b, other]) => other - one || a.localeCompare(b)).map(([name]) => name);
}

/** The rows in their order; by the values of a label, if one is named: what waits for a person stands above all of them. */
export function arranged(sessions: Iterable<Session>, label: string | null, titles: Titles): Group[] {
  const rows = ordered(sessions);
  if (label === null) return [{ key: "all", title: null, rows: rows.map(placed) }];
  const waiting: Session[] = [];
  const others: Session[] = [];
  const groups = new Map<string, Session[]>();
  for (const session of rows) {
    const value = session.labels[label];
    if (waits(session)) waiting.push(session);
    else if (!value) others.push(session);
    else if (!groups.get(value)?.push(session)) groups.set(value, [session]);
  }
  const named = [...groups].sort(([a], [b]) => a.localeCompare(b, undefined, { numeric: true }));
  const all: [string, string, Session[]][] = [
    ["waiting", titles.waiting, waiting],
    ...named.map(([value, of]): [string, string, Session[]] => [`=${value}`, value, of]),
    ["others", titles.others, others],
  ];
  return all.filter(([, , of]) => of.length > 0).map(([key, title, of]) => ({ key, title, rows: of.map(placed) }));
}

/** What stands above groups that have no value for it. */
export interface Titles {
  waiting: string;
  others: string;
}

/**
 * The rows as they stood, each with what its session is now: none moves, what is gone leaves its place empty, and what is new
 * comes last.
 */
export function stoodStill(before: readonly Group[], now: readonly Group[]): Group[] {
  const current = new Map(now.flatMap(({ rows }) => rows).map(({ session }) => [session.id, session]));
  const still = before.map((group) => ({
    ...group,
    rows: group.rows.map(({ session, stood }) => {
      const is = current.get(session.id);
      current.delete(session.id);
      return is ? { session: is, stood, isGone: false } : { session, stood, isGone: true };
    }),
  }));
  const newcomers = [...current.values()].map(placed);
  return newcomers.length === 0 ? still : [...still, { key: "newcomers", title: null, rows: newcomers }];
}

/** The row that Tab leads to: the one that somebody was at last, else that of the session that is shown, else the first. */
export function tabStop(groups: readonly Group[], visited: string | null, shown: Route): string | null {
  const present = groups.flatMap(({ rows }) => rows).filter(({ isGone }) => !isGone).map(({ session }) => session.id);
  const at = shown.kind === "session" ? shown.id : null;
  return [visited, at].find((id) => id !== null && present.includes(id)) ?? present[0] ?? null;
}

function placed(session: Session): Place {
  return { session, stood: session, isGone: false };
}
