import type { Event } from "../protocol";
import { request, type Bearer } from "./client";
import { eventOf } from "./shape";
import { EventParser } from "./sse";

/** An event with its place in the stream. */
export interface NumberedEvent {
  event: Event;
  /** The sequence number; null where the daemon gave none. */
  seq: number | null;
}

/**
 * Follows the daemon's event stream, by `fetch` since an `EventSource` cannot carry a bearer.
 * `opened` is called once the daemon has answered; the iteration ends when the stream does. What arrives together comes together.
 */
export async function* follow(
  bearer: Bearer,
  after: number | null,
  signal: AbortSignal,
  opened: () => void,
): AsyncGenerator<NumberedEvent[]> {
  const path = after === null ? "/v1/events" : `/v1/events?after=${after}`;
  const answer = await request("GET", path, { bearer, signal });
  opened();
  if (!answer.body) return;
  const reader = answer.body.getReader();
  const parser = new EventParser();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    yield parser.push(next.value).flatMap(({ kind, data, id }) => {
      const event = known(kind, data);
      return event ? [{ event, seq: id === "" ? null : Number(id) }] : [];
    });
  }
}

/** A kind that this version does not know is skipped: a newer daemon may have more to say. */
function known(kind: string, data: string): Event | null {
  if (kind === "gap") return { kind };
  return kind === "session" || kind === "session_removed" || kind === "device_paired" ? eventOf(kind, data) : null;
}
