import { signal } from "@preact/signals";
import { sessions } from "../api/client";
import { follow, type NumberedEvent } from "../api/events";
import type { Link } from "../connection/connection";
import { Meter } from "../connection/meter";
import { authenticate, endOf, identify, probeAs } from "../keys/access";
import { bearerOf } from "../keys/proof";
import type { Credential } from "../keys/store";
import type { Event, Exit, Session } from "../protocol";

/** The sessions as last seen, by id; null before the first answer. */
export const list = signal<ReadonlyMap<string, Session> | null>(null);

/** The session that was deleted here last, while that is offered to be taken back. */
export const lastDeleted = signal<{ id: string; name: string } | null>(null);

/** The device that was paired last, until a person has seen that. */
export const newcomer = signal<{ label: string; role: Role } | null>(null);

/** The list after events, those about sessions; others change nothing of it. */
export function applied(before: ReadonlyMap<string, Session>, ...events: readonly Event[]): ReadonlyMap<string, Session> {
  const after = new Map(before);
  for (const event of events) {
    if (event.kind === "session") {
      if (event.session.purge_at === null) after.set(event.session.id, event.session);
      else after.delete(event.session.id);
    }
    if (event.kind === "session_removed") after.delete(event.id);
  }
  return after;
}

/** Those that wait for a person first, then what runs, the newest on top, then the ended ones, the last ended on top. */
export function ordered(sessions: Iterable<Session>): Session[] {
  return [...sessions]
    .map((session) => ({ session, ...placeOf(session) }))
    .sort((a, b) => a.rank - b.rank || b.begun - a.begun || (a.session.id < b.session.id ? -1 : 1))
    .map(({ session }) => session);
}

/** Whether a session waits for a person. */
export function waits({ state, attention }: Session): boolean {
  return state === "running" && attention.state === "waiting";
}

/** How a program ended: well, as somebody asked it to, or badly. */
export function ending({ code, signal }: Exit): "done" | "stopped" | "failed" {
  if (code === 0) return "done";
  return signal !== null && STOPPING.includes(signal) ? "stopped" : "failed";
}

/** What a row is sorted by; kept for each state of a session, since hundreds are sorted again whenever one changes. */
function placeOf(session: Session): { rank: number; begun: number } {
  const known = places.get(session);
  if (known) return known;
  const runs = session.state === "running";
  const rank = !runs ? 2 : waits(session) ? 0 : 1;
  // Working and idle alternate all the time: neither moves a row.
  const begun = rank === 1 ? Date.parse(session.created_at) : since(session);
  const place = { rank, begun };
  places.set(session, place);
  return place;
}

/** Since when a session is in its state, in milliseconds since the epoch. */
export function since(session: Session): number {
  if (session.state !== "running") return Date.parse(session.ended_at ?? session.created_at);
  return Date.parse(session.attention.state === "unknown" ? session.created_at : session.attention.since);
}

/** Forgets what was listed. */
export function clearList(): void {
  list.value = null;
  lastDeleted.value = null;
  newcomer.value = null;
  place = { instance: null, seq: null, life: null };
}

/** Keeps the list true: the event stream from where it was left, and the whole state after each gap. */
export const followSessions: Link = async (opened, ended) => {
  let credential: Credential | null = null;
  try {
    credential = await authenticate(ended);
    const bearer = bearerOf(credential);
    if (place.instance !== credential.instance) {
      clearList();
      place.instance = credential.instance;
    }
    const after = list.peek() === null ? null : place.seq;
    const life = identify(credential, ended).then((who) => who.life);
    // Another life has other events: it begins with a gap, and what is shown is true once that is filled.
    const resumed = (): void => void life.then((now) => now === place.life && opened(), () => undefined);
    const events = follow(bearer, after, ended, () => after !== null && resumed());
    const read = async (): Promise<Session[]> => {
      const all = await sessions(bearer, ended);
      place.life = await life;
      return all;
    };
    await Promise.all([life, consume(events, read, opened)]);
    return { kind: "lost" };
  } catch (error) {
    return ended.aborted ? { kind: "lost" } : endOf(error, credential);
  }
};

/** The run of the daemon whose state the list shows; null before it was heard. An action on the list is meant for that one. */
export function listedLife(): string | null {
  return place.life;
}

/** Asks whether the list is still true: a run that has begun since means that its stream has ended, whoever noticed. */
export const probeSessions = probeAs((life) => life === place.life);

/** Applies events in their order; those that come while the state is read again wait for it. */
async function consume(
  events: AsyncIterable<NumberedEvent[]>,
  read: () => Promise<Session[]>,
  opened: () => void,
): Promise<void> {
  for await (const arrived of events) {
    if (arrived.length > 0) listMeter.arrived((heard += 1), performance.now());
    let changed = list.peek();
    for (const { event } of arrived) {
      if (event.kind === "gap") {
        changed = new Map((await read()).filter(({ purge_at }) => purge_at === null).map((session) => [session.id, session]));
        list.value = changed;
        opened();
      } else if (event.kind === "device_paired") {
        newcomer.value = { label: event.label, role: event.role };
      } else if (changed) {
        changed = applied(changed, event);
      }
    }
    list.value = changed;
    whenDrawn(heard);
    place.seq = arrived.findLast(({ seq }) => seq !== null)?.seq ?? place.seq;
  }
}

/** What the list's figures are made of; it counts batches of events instead of bytes. */
export const listMeter = new Meter();

function whenDrawn(batch: number): void {
  if (typeof requestAnimationFrame === "undefined") return;
  // The frame that draws them comes before this one's own drawing is over.
  requestAnimationFrame(() => setTimeout(() => listMeter.drawn(batch, performance.now())));
}

let heard = 0;

const places = new WeakMap<Session, { rank: number; begun: number }>();

type Role = Extract<Event, { kind: "device_paired" }>["role"];

/** How far the stream of which daemon was read, and which run of it. */
let place: { instance: string | null; seq: number | null; life: string | null } = { instance: null, seq: null, life: null };

/** SIGHUP, SIGINT and SIGTERM: somebody's wish. SIGKILL may as well be the system's, short of memory. */
const STOPPING = [1, 2, 15];
