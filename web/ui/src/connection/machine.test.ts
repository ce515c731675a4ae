import { expect, test } from "vitest";
import { isWaiting, next, retryDelay, type ConnectionEvent, type ConnectionState } from "./machine";

const lost = (at: number, online = true): ConnectionEvent => ({ kind: "lost", at, online });

/** The state after events, from the beginning. */
function after(...events: ConnectionEvent[]): ConnectionState {
  return events.reduce<ConnectionState>(next, { kind: "connecting" });
}

const OPENED: ConnectionEvent = { kind: "opened" };

test("an opened connection is live", () => {
  expect(after(OPENED)).toEqual({ kind: "live" });
});

test("a daemon that never answered is unreachable, since the first try", () => {
  expect(after(lost(10), lost(20))).toEqual({ kind: "unreachable", since: 10, attempt: 2 });
});

test("a cut connection reconnects, since the cut and not since the last try", () => {
  expect(after(OPENED, lost(10), lost(20), lost(30))).toEqual({ kind: "reconnecting", since: 10, attempt: 3 });
});

test("without a network the cut is called offline, and a network that returns changes the name alone", () => {
  expect(after(OPENED, lost(10, false))).toEqual({ kind: "offline", since: 10, attempt: 1 });
  expect(after(OPENED, lost(10, false), { kind: "network", online: true })).toEqual({ kind: "reconnecting", since: 10, attempt: 1 });
  expect(after(OPENED, lost(10), { kind: "network", online: false })).toEqual({ kind: "offline", since: 10, attempt: 1 });
});

test("a live connection stays live whatever the system says of the network", () => {
  expect(after(OPENED, { kind: "network", online: false })).toEqual({ kind: "live" });
});

test("a connection that came back counts from the start when it is cut again", () => {
  expect(after(OPENED, lost(10), lost(20), OPENED, lost(30))).toEqual({ kind: "reconnecting", since: 30, attempt: 1 });
});

const WAITING = { since: 10, attempt: 2, why: "restarting" } as const;
const STATES: Record<ConnectionState["kind"], ConnectionState> = {
  connecting: { kind: "connecting" },
  live: { kind: "live" },
  reconnecting: { kind: "reconnecting", ...WAITING },
  offline: { kind: "offline", ...WAITING },
  unreachable: { kind: "unreachable", ...WAITING },
  ended: { kind: "ended", reason: "revoked" },
};
const EVENTS = {
  opened: OPENED,
  lost: lost(99),
  "lost offline": lost(99, false),
  "network back": { kind: "network", online: true },
  "network gone": { kind: "network", online: false },
  ended: { kind: "ended", reason: "expired" },
} as const satisfies Record<string, ConnectionEvent>;

/** The whole machine: where each event leads from each state. */
const TABLE: [ConnectionState["kind"], Record<keyof typeof EVENTS, ConnectionState["kind"]>][] = [
  ["connecting", { opened: "live", lost: "unreachable", "lost offline": "offline", "network back": "connecting", "network gone": "connecting", ended: "ended" }],
  ["live", { opened: "live", lost: "reconnecting", "lost offline": "offline", "network back": "live", "network gone": "live", ended: "ended" }],
  ["reconnecting", { opened: "live", lost: "reconnecting", "lost offline": "offline", "network back": "reconnecting", "network gone": "offline", ended: "ended" }],
  ["offline", { opened: "live", lost: "reconnecting", "lost offline": "offline", "network back": "reconnecting", "network gone": "offline", ended: "ended" }],
  ["unreachable", { opened: "live", lost: "unreachable", "lost offline": "offline", "network back": "unreachable", "network gone": "offline", ended: "ended" }],
  ["ended", { opened: "ended", lost: "ended", "lost offline": "ended", "network back": "ended", "network gone": "ended", ended: "ended" }],
];
const TRANSITIONS = TABLE.flatMap(([from, row]) => Object.entries(row).map(([event, to]) => [from, event as keyof typeof EVENTS, to] as const));

test.each(TRANSITIONS)("%s, then %s: %s", (from, event, to) => {
  const after = next(STATES[from], EVENTS[event]);
  expect(after.kind).toBe(to);
  // The word on what is shown is of its last true moment, and what the daemon said stays until it says else.
  const kept = isWaiting(STATES[from]) && isWaiting(after);
  if (kept) expect([after.since, after.why]).toEqual([10, "restarting"]);
  if (from === "ended") expect(after).toEqual(STATES.ended);
});

test.each(["revoked", "expired", "unrecognised", "unpaired", "wrong_host", "not_permitted", "gone", "finished"] as const)(
  "nothing leads out of %s",
  (reason) => {
    const end: ConnectionEvent = { kind: "ended", reason };
    const others: ConnectionEvent[] = [OPENED, lost(1), { kind: "network", online: true }, { kind: "ended", reason: "gone" }];
    for (const event of others) expect(after(OPENED, end, event)).toEqual({ kind: "ended", reason });
  },
);

test("tries begin at 100 ms, double, and never wait for longer than 10 s", () => {
  expect([1, 2, 3, 7, 8, 50].map((attempt) => retryDelay(attempt, 1))).toEqual([100, 200, 400, 6400, 10_000, 10_000]);
});

test("chance takes at most half of a delay away", () => {
  expect(retryDelay(1, 0)).toBe(50);
  expect(retryDelay(50, 0)).toBe(5_000);
});
