import { Refused } from "../api/client";
import { Unreadable } from "../api/shape";
import { StorageUnavailable } from "../keys/store";
import type { LinkEnd } from "./connection";

/** What an error of the API, or of the browser's storage, means for a connection. */
export function linkEndOf(error: unknown): LinkEnd {
  if (error instanceof StorageUnavailable) return { kind: "ended", reason: "storage" };
  if (error instanceof Unreadable) return { kind: "ended", reason: "unreadable" };
  if (!(error instanceof Refused)) return { kind: "lost" };
  const { status, code, detail, hint, retry_after: retryAfter } = error.problem;
  // The right changed while the request was on its way, or a proof came too late: asked again, the daemon says what holds now.
  if (PASSING.includes(code)) return { kind: "lost" };
  if (status === 401) return { kind: "ended", reason: reasonOf(code) };
  if (code === "wrong_host") return { kind: "ended", reason: "wrong_host" };
  if (status === 403) return { kind: "ended", reason: OF_NODES.includes(code) ? "wrong_node" : "not_permitted", said: { detail, hint } };
  return retryAfter === undefined ? { kind: "lost" } : { kind: "lost", retryAfter };
}

function reasonOf(code: string): "revoked" | "expired" | "unrecognised" {
  return code === "revoked" || code === "expired" ? code : "unrecognised";
}

const OF_NODES = ["wrong_node", "unknown_node"];
const PASSING = ["authentication_ended", "access_ended", "challenge_expired", "challenge_used", "unknown_challenge"];
