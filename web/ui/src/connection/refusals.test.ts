import { expect, test } from "vitest";
import { Refused, Unreachable } from "../api/client";
import { StorageUnavailable } from "../keys/store";
import { linkEndOf } from "./refusals";

function refused(status: number, code: string, retryAfter?: number): Refused {
  const problem = { type: "", title: "", status, code, detail: "", hint: "" };
  return new Refused(retryAfter === undefined ? problem : { ...problem, retry_after: retryAfter });
}

test.each([
  [401, "revoked", { kind: "ended", reason: "revoked" }],
  [401, "expired", { kind: "ended", reason: "expired" }],
  [401, "invalid_token", { kind: "ended", reason: "unrecognised" }],
  [401, "authentication_ended", { kind: "lost" }],
  [403, "wrong_host", { kind: "ended", reason: "wrong_host" }],
  [403, "not_permitted", { kind: "ended", reason: "not_permitted", said: { detail: "", hint: "" } }],
  [403, "wrong_node", { kind: "ended", reason: "wrong_node", said: { detail: "", hint: "" } }],
  [403, "unknown_node", { kind: "ended", reason: "wrong_node", said: { detail: "", hint: "" } }],
  [503, "store_failed", { kind: "lost" }],
] as const)("%d %s", (status, code, end) => {
  expect(linkEndOf(refused(status, code))).toEqual(end);
});

test("a daemon that asks to wait is lost until then", () => {
  expect(linkEndOf(refused(429, "too_many_connections", 3))).toEqual({ kind: "lost", retryAfter: 3 });
});

test("no answer is never an end", () => {
  expect(linkEndOf(new Unreachable("cut"))).toEqual({ kind: "lost" });
  expect(linkEndOf(new TypeError("network error"))).toEqual({ kind: "lost" });
});

test("a browser whose storage fails is no daemon that does not answer", () => {
  expect(linkEndOf(new StorageUnavailable("denied"))).toEqual({ kind: "ended", reason: "storage" });
});
