import { expect, test } from "vitest";
import type { Session } from "../protocol";
import { applied, ending, ordered, since } from "./list";

function session(id: string, created: string, ended: string | null = null): Session {
  return {
    id,
    name: id,
    command: "sh",
    args: [],
    cwd: "/",
    state: ended ? "exited" : "running",
    exit: ended ? { code: 0, signal: null, duration_ms: 1, peak_memory_bytes: 1 } : null,
    created_at: created,
    ended_at: ended,
    last_output_at: null,
    size: { columns: 80, rows: 24 },
    end: 0,
    title: null,
    last_line: "",
    viewers: 0,
    writers: 0,
    labels: {},
    attention: { state: "unknown", since: created, message: null },
    note: null,
    parent: null,
    trusted: false,
    purge_at: null,
  };
}

const OLD = session("old", "2026-01-01T00:00:00Z");
const NEW = session("new", "2026-01-02T00:00:00Z");
const DONE = session("done", "2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z");
const LONG_DONE = session("long_done", "2026-01-02T12:00:00Z", "2026-01-02T13:00:00Z");

test("running ones come first, the newest on top, then those that ended last", () => {
  expect(ordered([DONE, OLD, LONG_DONE, NEW]).map(({ id }) => id)).toEqual(["new", "old", "done", "long_done"]);
});

test("what waits for a person comes first, and only while it runs", () => {
  const asks = { ...OLD, id: "asks", attention: { state: "waiting" as const, since: "2026-01-02T06:00:00Z", message: "Deploy?" } };
  const asked = { ...DONE, id: "asked", attention: asks.attention };
  expect(ordered([NEW, asked, OLD, asks]).map(({ id }) => id)).toEqual(["asks", "new", "old", "asked"]);
  expect(since(asks)).toBe(Date.parse("2026-01-02T06:00:00Z"));
});

test("working and idle in turn move no row", () => {
  const busy = { ...OLD, attention: { state: "working" as const, since: "2026-02-01T00:00:00Z", message: null } };
  expect(ordered([NEW, busy]).map(({ id }) => id)).toEqual(["new", "old"]);
});

test("a deleted session is not shown, and a restored one is again", () => {
  const before = new Map([["old", OLD]]);
  const deleted = applied(before, { kind: "session", session: { ...OLD, purge_at: "2026-02-01T00:00:00Z" } });
  expect(deleted.size).toBe(0);
  expect(applied(deleted, { kind: "session", session: OLD }).size).toBe(1);
});

test("output moves no row", () => {
  const busy = { ...OLD, last_output_at: "2026-02-01T00:00:00Z", end: 9000 };
  expect(ordered([NEW, busy]).map(({ id }) => id)).toEqual(["new", "old"]);
});

test("a state began when it began", () => {
  expect(since(OLD)).toBe(Date.parse("2026-01-01T00:00:00Z"));
  expect(since(DONE)).toBe(Date.parse("2026-01-03T00:00:00Z"));
});

test("an event carries the whole session, so hearing it twice changes nothing", () => {
  const before = new Map([["old", OLD]]);
  const changed = { ...OLD, last_line: "done" };
  const once = applied(before, { kind: "session", session: changed });
  expect(applied(once, { kind: "session", session: changed })).toEqual(once);
  expect(once.get("old")?.last_line).toBe("done");
  expect(before.get("old")?.last_line).toBe("");
});

test("a removed session is gone", () => {
  expect(applied(new Map([["old", OLD]]), { kind: "session_removed", id: "old" }).size).toBe(0);
});

test("a program that somebody stopped has not failed", () => {
  const ended = (code: number | null, signal: number | null) => ending({ code, signal, duration_ms: 1, peak_memory_bytes: 1 });
  expect([ended(0, null), ended(1, null), ended(null, null)]).toEqual(["done", "failed", "failed"]);
  expect([1, 2, 15, 9, 11].map((signal) => ended(null, signal))).toEqual(["stopped", "stopped", "stopped", "failed", "failed"]);
});
