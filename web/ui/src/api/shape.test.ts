import { afterEach, expect, test, vi } from "vitest";
import { linkEndOf } from "../connection/refusals";
import { sessions } from "./client";
import { follow } from "./events";
import { Unreadable } from "./shape";

const SESSION = {
  id: "ses_1", name: "build", command: "cargo", args: [], cwd: "/", state: "running", exit: null, created_at: "2026-01-01T00:00:00Z",
  ended_at: null, last_output_at: null, size: { columns: 80, rows: 24 }, end: 0, title: null, last_line: "", viewers: 0, writers: 0,
  labels: {}, attention: { state: "unknown", since: "2026-01-01T00:00:00Z", message: null }, note: null, parent: null, trusted: false, purge_at: null,
};
const BEARER = { current: async () => "tsm_acc_1", renew: async () => "tsm_acc_1" };

afterEach(() => vi.unstubAllGlobals());

/** All events of a stream that says this. */
async function heard(said: string): Promise<unknown[]> {
  vi.stubGlobal("fetch", async () => new Response(said));
  const all: unknown[] = [];
  for await (const events of follow(BEARER, null, new AbortController().signal, () => undefined)) all.push(...events);
  return all;
}

test("events are read as they are, and what a newer daemon has besides is skipped", async () => {
  const said = `event: gap\ndata: {}\n\nevent: weather\ndata: sun\n\nid: 7\nevent: session\ndata: ${JSON.stringify({ session: { ...SESSION, mood: "good" } })}\n\n`;
  expect(await heard(said)).toMatchObject([{ event: { kind: "gap" } }, { seq: 7, event: { kind: "session", session: { id: "ses_1" } } }]);
});

test.each([
  ["no JSON", "event: session\ndata: {\n\n"],
  ["no session", "event: session\ndata: {}\n\n"],
  ["a session without labels", `event: session\ndata: ${JSON.stringify({ session: { ...SESSION, labels: undefined } })}\n\n`],
  ["a session of another attention", `event: session\ndata: ${JSON.stringify({ session: { ...SESSION, attention: "waiting" } })}\n\n`],
  ["nobody removed", "event: session_removed\ndata: {}\n\n"],
])("%s is another version's, and asked no more", async (_, said) => {
  const error = await heard(said).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Unreadable);
  expect(linkEndOf(error)).toEqual({ kind: "ended", reason: "unreadable" });
});

test.each([[{ sessions: [SESSION] }], [[{ ...SESSION, args: "build" }]], [[null]]])("a list of another shape is another version's", async (answer) => {
  vi.stubGlobal("fetch", async () => Response.json(answer));
  await expect(sessions(BEARER)).rejects.toThrow(Unreadable);
});
