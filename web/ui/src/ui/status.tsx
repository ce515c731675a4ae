import type { Connection } from "../connection/connection";
import type { ConnectionState } from "../connection/machine";
import { strings } from "../strings";
import { clockTime } from "./time";

/** Where the connection stands, always on screen; changes are read out, round trips are not. */
export function Status({ connection }: { connection: Connection }) {
  const state = connection.state.value;
  const trip = connection.roundTrip.value;
  return (
    <span class="status" data-connection={state.kind}>
      <span class="status-dot" aria-hidden="true" />
      <span aria-hidden="true">{state.kind === "live" && trip !== null ? strings.status.liveWith(trip) : wordsOf(state)}</span>
      <span class="visually-hidden" role="status">
        {wordsOf(state)}
      </span>
    </span>
  );
}

/** A state in words. */
export function wordsOf(state: ConnectionState): string {
  if ("why" in state && state.why && state.kind !== "offline") return strings.status[state.why];
  switch (state.kind) {
    case "connecting":
      return strings.status.connecting;
    case "live":
      return strings.status.live;
    case "reconnecting":
      return strings.status.reconnecting(clockTime(state.since));
    case "offline":
      return strings.status.offline(clockTime(state.since));
    case "unreachable":
      return strings.status.unreachable;
    case "ended":
      return state.reason === "finished" ? strings.status.finished : strings.status.ended;
  }
}
