import type { Event, Session } from "../protocol";

/** The daemon said what this page cannot read: one of them is of another version. */
export class Unreadable extends Error {
  override readonly name = "Unreadable";
}

/** The sessions of an answer; throws `Unreadable` where it has none that this page can show. */
export function sessionsOf(answer: unknown): Session[] {
  if (!Array.isArray(answer)) throw new Unreadable("the daemon's sessions are no list");
  return answer.map(sessionOf);
}

/** An event of a kind that this page knows; throws `Unreadable` where it has another shape. */
export function eventOf(kind: "session" | "session_removed" | "device_paired", data: string): Event {
  const said = objectOf(parsed(data));
  if (kind === "session") return { kind, session: sessionOf(said["session"]) };
  if (kind === "session_removed") return { kind, id: textOf(said["id"]) };
  textOf(said["label"]);
  return { ...said, kind } as Event;
}

/** All that the list reads of a session is checked here, so that nothing fails when it is drawn. */
function sessionOf(value: unknown): Session {
  const session = objectOf(value);
  for (const name of ["id", "name", "command", "cwd", "state", "created_at", "last_line"]) textOf(session[name]);
  for (const name of ["viewers", "writers"]) if (typeof session[name] !== "number") throw unreadable();
  if (!Array.isArray(session["args"]) || session["purge_at"] === undefined) throw unreadable();
  objectOf(session["labels"]);
  const attention = objectOf(session["attention"]);
  textOf(attention["state"]);
  textOf(attention["since"]);
  return value as Session;
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch (cause) {
    throw new Unreadable("the daemon said what is no JSON", { cause });
  }
}

function objectOf(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null) throw unreadable();
  return value as Record<string, unknown>;
}

function textOf(value: unknown): string {
  if (typeof value !== "string") throw unreadable();
  return value;
}

function unreadable(): Unreadable {
  return new Unreadable("the daemon said something of another shape than this page knows");
}
