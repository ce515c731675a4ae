import "fake-indexeddb/auto";
import { createHash, createPublicKey, verify } from "node:crypto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { device } from "../keys/access";
import { load } from "../keys/store";
import type { Exchange, NewRequest, Reveal } from "../protocol";
import { pair, type PairingState } from "./flow";

const OFFER = { id: "ofr_0123456789abcdef", secret: "s".repeat(43), pin: `sha256/${"p".repeat(43)}` };
const INSTANCE = "00112233aabbccdd";

/** A daemon as far as pairing goes; `failures` are the calls to leave unanswered, once each. */
class FakeDaemon {
  statuses = ["authorization_pending", "approved"];
  cause: string | undefined;
  failures: string[] = [];
  refusal: { status: number; code: string } | null = null;
  calls: string[] = [];
  wish: NewRequest | null = null;
  reveal: Reveal | null = null;
  exchange: Exchange | null = null;
  tokens = 0;
  committed: string | null = null;

  fetch = async (path: string, init: RequestInit): Promise<Response> => {
    const call = `${init.method} ${path.replace(/req_\w+/, "{id}")}`;
    this.calls.push(call);
    if (this.failures.includes(call)) {
      this.failures.splice(this.failures.indexOf(call), 1);
      throw new TypeError("network");
    }
    const body = init.body ? (JSON.parse(String(init.body)) as unknown) : null;
    const bearer = new Headers(init.headers).get("Authorization");
    switch (call) {
      case "GET /v1/health":
        return Response.json({ status: "ok", version: "0", instance: INSTANCE });
      case "POST /v1/pairing/requests":
        if (this.refusal) return Response.json(this.refusal, { status: this.refusal.status });
        this.wish = body as NewRequest;
        return Response.json(
          { request_id: "req_0123456789abcdef", request_secret: "tsm_req_x", server_nonce: "A".repeat(43), expires_in: 600, interval: 2 },
          { status: 201 },
        );
      case "POST /v1/pairing/requests/{id}/reveal":
        this.reveal = body as Reveal;
        return new Response(null, { status: 204 });
      case "GET /v1/pairing/requests/{id}?wait=25":
        return Response.json({ status: this.statuses.shift(), interval: 2, exchange_nonce: "once", cause: this.cause });
      case "POST /v1/pairing/requests/{id}/exchange":
        this.exchange = body as Exchange;
        this.tokens += 1;
        return Response.json({ device_id: "dev_1", token: `tsm_dev_${this.tokens}`, role: "operator", pin: OFFER.pin, server_name: "" });
      case "POST /v1/pairing/requests/{id}/commit":
        this.committed = bearer;
        return new Response(null, { status: 204 });
      default:
        return Response.json({ code: "not_found" }, { status: 404 });
    }
  };

  async pair(): Promise<PairingState[]> {
    const states: PairingState[] = [];
    await pair(OFFER, "phone", (state) => states.push(state), new AbortController().signal);
    return states;
  }
}

let daemon: FakeDaemon;

beforeEach(() => {
  daemon = new FakeDaemon();
  vi.stubGlobal("fetch", daemon.fetch);
  vi.stubGlobal("location", { origin: "https://localhost:7443" });
  // Node's structuredClone loses what a CryptoKey is; a browser's storage keeps it.
  vi.stubGlobal("structuredClone", <T>(value: T): T => value);
  device.value = null;
});

afterEach(() => vi.unstubAllGlobals());

test("an approved device is stored before it is committed, and is one afterwards", async () => {
  const states = await daemon.pair();
  expect(states.map(({ kind }) => kind)).toEqual(["asking", "comparing", "comparing", "comparing", "approved", "paired"]);
  expect(daemon.committed).toBe("Bearer tsm_dev_1");
  expect(await load(INSTANCE)).toMatchObject({ deviceId: "dev_1", token: "tsm_dev_1", role: "operator", label: "phone", uncommitted: null });
  expect(device.value?.token).toBe("tsm_dev_1");
});

test("the key that was committed to is the key that is revealed and that signs the exchange", async () => {
  await daemon.pair();
  const key = Buffer.from(daemon.reveal?.public_key ?? "", "base64url");
  const nonce = Buffer.from(daemon.reveal?.nonce ?? "", "base64url");
  expect(daemon.wish?.commitment).toBe(createHash("sha256").update(key).update(nonce).digest("base64url"));
  const coordinates = { x: key.subarray(1, 33).toString("base64url"), y: key.subarray(33).toString("base64url") };
  const publicKey = createPublicKey({ key: { kty: "EC", crv: "P-256", ...coordinates }, format: "jwk" });
  const text = "transom-pair-v1\nreq_0123456789abcdef\nonce\norigin:https://localhost:7443";
  const signature = Buffer.from(daemon.exchange?.signature ?? "", "base64url");
  expect(verify("sha256", Buffer.from(text), { key: publicKey, dsaEncoding: "ieee-p1363" }, signature)).toBe(true);
});

test.each([
  ["access_denied", "key_rotated", { kind: "rejected", cause: "key_rotated" }],
  ["access_denied", undefined, { kind: "rejected", cause: null }],
  ["expired_token", undefined, { kind: "expired" }],
])("%s by %s ends as such and keeps nothing", async (status, cause, end) => {
  daemon.statuses = [status];
  daemon.cause = cause;
  const states = await daemon.pair();
  expect(states.at(-1)).toEqual(end);
  expect(daemon.tokens).toBe(0);
});

test("a lost answer is asked for again at every step after the reveal", async () => {
  const path = "/v1/pairing/requests/{id}";
  daemon.failures = [`GET ${path}?wait=25`, `POST ${path}/exchange`, `POST ${path}/commit`];
  const states = await daemon.pair();
  expect(states).toContainEqual(expect.objectContaining({ kind: "comparing", reachable: false }));
  expect(states.at(-1)).toEqual({ kind: "paired" });
});

test("a refused offer says why", async () => {
  daemon.refusal = { status: 409, code: "offer_used" };
  const states = await daemon.pair();
  expect(states.at(-1)).toMatchObject({ kind: "refused", problem: { code: "offer_used", status: 409 } });
});

test("a daemon that does not answer is unreachable", async () => {
  daemon.failures = ["GET /v1/health"];
  expect((await daemon.pair()).at(-1)).toEqual({ kind: "unreachable" });
});

test("a browser that keeps nothing does not use the offer up", async () => {
  vi.stubGlobal("indexedDB", { open: () => { throw new Error("denied"); } });
  expect((await daemon.pair()).at(-1)).toEqual({ kind: "storage_unavailable" });
  expect(daemon.calls).toEqual(["GET /v1/health"]);
});
