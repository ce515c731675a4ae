import { signal } from "@preact/signals";
import { sessions } from "../api/client";
import { follow, type NumberedEvent } from "../api/events";
import type { Link } from "../connection/connection";
import { linkEndOf } from "../connection/refusals";
import { authenticate, NoAccess } from "../keys/access";
import type { Event, Session } from "../protocol";

/** The sessions as last seen, by id; null before the first answer. */
export const list = signal<ReadonlyMap<string, Session> | null>(null);

/** The list after an event about one session; a gap is not about one. */
export function applied(before: ReadonlyMap<string, Session>, event: Event): ReadonlyMap<string, Session> {
  const after = new Map(before);
  if (event.kind === "session") after.set(event.session.id, event.session);
  if (event.kind === "session_removed") after.delete(event.id);
  return after;
}

/** Running ones first, the newest on top; then the ended ones, the last ended on top. Output moves nothing. */
export function ordered(sessions: Iterable<Session>): Session[] {
  return [...sessions].sort((a, b) => {
    if (a.state !== b.state) return a.state === "running" ? -1 : 1;
    return since(b) - since(a) || a.id.localeCompare(b.id);
  });
}

/** Since when a session is in its state, in milliseconds since the epoch. */
export function since(session: Session): number {
  return Date.parse((session.state === "exited" && session.ended_at) || session.created_at);
}

/** Forgets what was listed. */
export function clearList(): void {
  list.value = null;
  place = { instance: null, seq: null };
}

/** Keeps the list true: the event stream from where it was left, and the whole state after each gap. */
export const followSessions: Link = async (opened, ended) => {
  try {
    const credential = await authenticate(ended);
    if (place.instance !== credential.instance) {
      clearList();
      place.instance = credential.instance;
    }
    const after = list.peek() === null ? null : place.seq;
    const events = follow(credential.token, after, ended, () => after !== null && opened());
    await consume(events, () => sessions(credential.token, ended), opened);
    return { kind: "lost" };
  } catch (error) {
    if (error instanceof NoAccess) return { kind: "ended", reason: error.reason };
    return ended.aborted ? { kind: "lost" } : linkEndOf(error);
  }
};

/** Applies events in their order; those that come while the state is read again wait for it. */
async function consume(
  events: AsyncIterable<NumberedEvent>,
  read: () => Promise<Session[]>,
  opened: () => void,
): Promise<void> {
  for await (const { event, seq } of events) {
    if (event.kind === "gap") {
      list.value = new Map((await read()).map((session) => [session.id, session]));
      opened();
    } else if (list.value) {
      list.value = applied(list.value, event);
    }
    if (seq !== null) place.seq = seq;
  }
}

/** How far the stream of which daemon was read. */
let place: { instance: string | null; seq: number | null } = { instance: null, seq: null };
