import type { Problem } from "../protocol";

/** Where the connection to the daemon stands; the list and the terminal show the same states. */
export type ConnectionState =
  /** The first try is under way. */
  | { kind: "connecting" }
  /** What is shown is true now. */
  | { kind: "live" }
  /** What is shown was true until `since`; tries go on. */
  | { kind: "reconnecting"; since: number; attempt: number; why?: LossReason }
  /** The same, and the system says that there is no network. */
  | { kind: "offline"; since: number; attempt: number; why?: LossReason }
  /** Nothing was ever shown, and the daemon does not answer; tries go on. */
  | { kind: "unreachable"; since: number; attempt: number; why?: LossReason }
  /** Over: no further request is made. */
  | Ending;

/** How a connection ended; `said` is why, where the daemon gave its own words. */
export interface Ending {
  kind: "ended";
  reason: EndReason;
  said?: Pick<Problem, "detail" | "hint"> | undefined;
}

/** What the daemon said when it cut a connection that is tried again. */
export type LossReason =
  /** It restarts, and will be back. */
  | "restarting"
  /** There are too many connections. */
  | "too_many"
  /** It cannot write to its disk, and so lets nobody in. */
  | "unwritten"
  /** It answers, and this browser opens no WebSocket to it: some do not where the certificate is not trusted. */
  | "no_socket";

/** Why a connection is over. */
export type EndReason =
  /** The daemon says that this device was revoked. */
  | "revoked"
  /** The daemon says that this device's time is over. */
  | "expired"
  /** A person took this device's trust back, here. */
  | "signed_out"
  /** The daemon does not know this device's token. */
  | "unrecognised"
  /** This browser holds no key for the daemon. */
  | "unpaired"
  /** The browser's storage, in which the key is, does not work. */
  | "storage"
  /** The daemon does not go by the name in the address bar. */
  | "wrong_host"
  /** This device is bound to a node of the tailnet, and nobody says that it comes from there. */
  | "wrong_node"
  /** This device may not see what was asked for. */
  | "not_permitted"
  /** There is no such session any more. */
  | "gone"
  /** Nobody knows how the session's program ended, and all that is kept of it is shown. */
  | "lost"
  /** The daemon says what this page cannot read: one of them is of another version. */
  | "unreadable"
  /** The session ended and all of it is shown. */
  | "finished";

/** What happens to a connection; times are milliseconds since the epoch. */
export type ConnectionEvent =
  | { kind: "opened" }
  | { kind: "lost"; at: number; online: boolean; why?: LossReason }
  | { kind: "network"; online: boolean }
  | Ending;

/** The state that follows. Every state takes every event, so that no order of arrival can break it. */
export function next(state: ConnectionState, event: ConnectionEvent): ConnectionState {
  if (state.kind === "ended") return state;
  switch (event.kind) {
    case "opened":
      return { kind: "live" };
    case "ended":
      return event;
    case "lost":
      return lost(state, event);
    case "network":
      return relabelled(state, event.online);
  }
}

/** Whether a state is one between two tries. */
export function isWaiting(state: ConnectionState): state is Waiting {
  return state.kind === "reconnecting" || state.kind === "offline" || state.kind === "unreachable";
}

/** Milliseconds until the next try: 100 ms doubling to 10 s, the upper half of it by chance so that many clients spread. */
export function retryDelay(attempt: number, random: number): number {
  const ceiling = Math.min(FIRST_DELAY * 2 ** Math.max(0, attempt - 1), LONGEST_DELAY);
  return Math.round(ceiling / 2 + (ceiling / 2) * random);
}

type Waiting = Extract<ConnectionState, { since: number }>;

function lost(state: ConnectionState, { at, online, why }: Extract<ConnectionEvent, { kind: "lost" }>): ConnectionState {
  const since = isWaiting(state) ? state.since : at;
  const attempt = isWaiting(state) ? state.attempt + 1 : 1;
  const reason = why ?? (isWaiting(state) ? state.why : undefined);
  const waiting = { since, attempt, ...(reason ? { why: reason } : {}) };
  if (!online) return { kind: "offline", ...waiting };
  const neverShown = state.kind === "connecting" || state.kind === "unreachable";
  return { kind: neverShown ? "unreachable" : "reconnecting", ...waiting };
}

/** The network's word changes the label only: a loopback daemon answers without any network. */
function relabelled(state: ConnectionState, online: boolean): ConnectionState {
  if (online && state.kind === "offline") return { ...state, kind: "reconnecting" };
  if (!online && isWaiting(state)) return { ...state, kind: "offline" };
  return state;
}

const FIRST_DELAY = 100;
const LONGEST_DELAY = 10_000;
