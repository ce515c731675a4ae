import { expect, test } from "vitest";
import { next, retryDelay, type ConnectionEvent, type ConnectionState } from "./machine";

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
