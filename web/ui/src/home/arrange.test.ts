import { expect, test } from "vitest";
import type { Session } from "../protocol";
import { arranged, labelNames, matches, stoodStill, tabStop, type Group } from "./arrange";

function session(id: string, change: Partial<Session> = {}): Session {
  const created = `2026-01-01T00:00:${String(60 - Number(id.replace(/\D/g, "") || 0)).padStart(2, "0")}Z`;
  return {
    id,
    name: id,
    command: "cargo",
    args: ["build"],
    cwd: "/work/transom",
    state: "running",
    exit: null,
    created_at: created,
    ended_at: null,
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
    ...change,
  };
}

const WAITS = { state: "waiting", since: "2026-01-01T00:00:00Z", message: "Deploy?" } as const;
const TITLES = { waiting: "Waiting for you", others: "Others" };
const shape = (groups: readonly Group[]) => groups.map(({ title, rows }) => [title, rows.map(({ session, isGone }) => (isGone ? `(${session.id})` : session.id))]);

test("a search finds words anywhere in what a session is known by, in any order and case", () => {
  const found = session("s1", { labels: { project: "Transom" }, note: { text: "waits for review", expires_at: null } });
  for (const query of ["", "  ", "CARGO", "build cargo", "project=transom", "review", "/work"]) expect(matches(found, query), query).toBe(true);
  for (const query of ["deploy", "cargo deploy"]) expect(matches(found, query), query).toBe(false);
});

test("what a program asks is searched, and what it printed is not", () => {
  const asks = session("s1", { attention: WAITS, last_line: "secret" });
  expect(matches(asks, "deploy")).toBe(true);
  expect(matches(asks, "secret")).toBe(false);
});

test("labels are offered by how many sessions have them", () => {
  const some = [session("s1", { labels: { b: "1", a: "1" } }), session("s2", { labels: { b: "2" } }), session("s3")];
  expect(labelNames(some)).toEqual(["b", "a"]);
});

test("without a label there is one group without a heading", () => {
  expect(shape(arranged([session("s2"), session("s1", { attention: WAITS })], null, TITLES))).toEqual([[null, ["s1", "s2"]]]);
});

test("groups stand in the order of their values, below what waits and above what has no value", () => {
  const of = (id: string, project?: string, change: Partial<Session> = {}) => session(id, { labels: project === undefined ? {} : { project }, ...change });
  const rows = [of("s1", "web10"), of("s2", "web9"), of("s3"), of("s4", "web9", { attention: WAITS }), of("s5", "web9"), of("s6", "")];
  expect(shape(arranged(rows, "project", TITLES))).toEqual([
    ["Waiting for you", ["s4"]],
    ["web9", ["s2", "s5"]],
    ["web10", ["s1"]],
    ["Others", ["s3", "s6"]],
  ]);
});

test("rows that stand still keep their order, whoever begins to wait", () => {
  const before = arranged([session("s1"), session("s2")], null, TITLES);
  const now = arranged([session("s1"), session("s2", { attention: WAITS })], null, TITLES);
  expect(shape(now)).toEqual([[null, ["s2", "s1"]]]);
  const still = stoodStill(before, now);
  expect(shape(still)).toEqual([[null, ["s1", "s2"]]]);
  expect(still[0]?.rows[1]?.session.attention).toEqual(WAITS);
  expect(still[0]?.rows[1]?.stood.attention.message).toBeNull();
});

test("what is gone leaves its place, what is new comes last, and what came back has its own place again", () => {
  const before = arranged([session("s1"), session("s2")], null, TITLES);
  const without = stoodStill(before, arranged([session("s2"), session("s0")], null, TITLES));
  expect(shape(without)).toEqual([[null, ["(s1)", "s2"]], [null, ["s0"]]]);
  expect(shape(stoodStill(without, arranged([session("s1"), session("s2")], null, TITLES)))).toEqual([[null, ["s1", "s2"]], [null, ["(s0)"]]]);
});

test("Tab leads to the row that somebody was at, else to what is shown, else to the first, and to none that is gone", () => {
  const all = arranged([session("s1"), session("s2"), session("s3")], null, TITLES);
  const home = { kind: "home" } as const;
  expect(tabStop(all, "s2", { kind: "session", id: "s3" })).toBe("s2");
  expect(tabStop(all, null, { kind: "session", id: "s3" })).toBe("s3");
  expect(tabStop(all, null, home)).toBe("s1");
  expect(tabStop(stoodStill(all, arranged([session("s1"), session("s3")], null, TITLES)), "s2", home)).toBe("s1");
  expect(tabStop([], "s1", home)).toBeNull();
});
