import { createPublicKey, verify } from "node:crypto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { sessions, Unreachable } from "../api/client";
import type { ProofOfKey } from "../protocol";
import { makeKey, publicPoint } from "./key";
import { forgetDaemon, OtherDaemon } from "./daemon";
import { bearerOf, forgetAccess, prepare } from "./proof";
import type { Credential } from "./store";

/** A daemon as far as proofs go. */
class FakeDaemon {
  calls: string[] = [];
  instance = "i";
  proofs: ProofOfKey[] = [];
  /** Codes with which the next proofs are refused. */
  refusals: string[] = [];
  /** The next proofs whose answers are lost on the way. */
  lost = 0;
  /** The access tokens that open something. */
  good = new Set<string>();
  made = 0;

  fetch = async (path: string, init: RequestInit): Promise<Response> => {
    const bearer = new Headers(init.headers).get("Authorization");
    this.calls.push(path);
    if (path === "/v1/health") return Response.json({ instance: this.instance });
    if (path === "/v1/auth/challenge") return Response.json({ challenge: this.next() });
    if (path === "/v1/auth/proof") {
      expect(bearer).toBe("Bearer tsm_dev_1");
      this.proofs.push(JSON.parse(String(init.body)) as ProofOfKey);
      const code = this.refusals.shift();
      if (code) return this.refusal(code);
      const token = `tsm_acc_${(this.made += 1)}`;
      this.good.add(token);
      if (this.lost > 0) {
        this.lost -= 1;
        throw new TypeError("network");
      }
      return Response.json({ access_token: token, expires_in: 900, principal: "device", challenge: this.next() });
    }
    return this.good.has(bearer?.replace("Bearer ", "") ?? "") ? Response.json([]) : this.refusal("access_ended");
  };

  private count = 0;
  private next = (): string => `challenge ${(this.count += 1)}`;
  private refusal = (code: string): Response => Response.json({ code, challenge: this.next() }, { status: 401 });
}

let daemon: FakeDaemon;
let credential: Credential;
let time: number;

beforeEach(async () => {
  daemon = new FakeDaemon();
  time = 1000;
  vi.stubGlobal("fetch", daemon.fetch);
  vi.stubGlobal("location", { origin: "https://localhost:7443" });
  vi.spyOn(performance, "now").mockImplementation(() => time);
  credential = { instance: "i", deviceId: "dev_1", token: "tsm_dev_1", label: "phone", role: "viewer", key: await makeKey(), uncommitted: null };
  forgetAccess();
  forgetDaemon();
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

test("a proof is signed by the device's key over challenge, origin and device", async () => {
  await bearerOf(credential).current();
  const [proof] = daemon.proofs;
  expect(proof).toMatchObject({ challenge: "challenge 1", audience: "origin:https://localhost:7443" });
  const point = Buffer.from(await publicPoint(credential.key));
  const jwk = { kty: "EC", crv: "P-256", x: point.subarray(1, 33).toString("base64url"), y: point.subarray(33).toString("base64url") };
  const key = createPublicKey({ key: jwk, format: "jwk" });
  const text = "transom-proof-v1\nchallenge 1\norigin:https://localhost:7443\ndev_1";
  const signature = Buffer.from(proof?.signature ?? "", "base64url");
  expect(verify("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" }, signature)).toBe(true);
});

test("a token serves until it is about to end, and the next proof needs one round trip", async () => {
  await sessions(bearerOf(credential));
  await sessions(bearerOf(credential));
  expect(daemon.calls).toEqual(["/v1/health", "/v1/auth/challenge", "/v1/auth/proof", "/v1/sessions", "/v1/sessions"]);
  time += 800_000;
  daemon.calls = [];
  await sessions(bearerOf(credential));
  expect(daemon.calls).toEqual(["/v1/health", "/v1/sessions"]);
  time += 20_000;
  daemon.calls = [];
  await sessions(bearerOf(credential));
  expect(daemon.calls).toEqual(["/v1/health", "/v1/auth/proof", "/v1/sessions"]);
});

test("twenty requests at once renew once and all succeed", async () => {
  await sessions(bearerOf(credential));
  daemon.good.clear();
  daemon.calls = [];
  await Promise.all(Array.from({ length: 20 }, () => sessions(bearerOf(credential))));
  expect(daemon.calls.filter((path) => path === "/v1/auth/proof")).toHaveLength(1);
});

test("a page that slept through the end of its token proves itself by what the refusal brought", async () => {
  await sessions(bearerOf(credential));
  daemon.good.clear();
  daemon.calls = [];
  await sessions(bearerOf(credential));
  expect(daemon.calls).toEqual(["/v1/sessions", "/v1/auth/proof", "/v1/sessions"]);
});

test("a challenge that is too old is replaced by that of the refusal", async () => {
  daemon.refusals = ["challenge_expired"];
  await sessions(bearerOf(credential));
  expect(daemon.proofs.map(({ challenge }) => challenge)).toEqual(["challenge 1", "challenge 2"]);
});

test("a proof whose answer was lost, as in a sleep, costs that request alone", async () => {
  daemon.lost = 1;
  await expect(sessions(bearerOf(credential))).rejects.toThrow(Unreachable);
  expect(await sessions(bearerOf(credential))).toEqual([]);
  expect(daemon.proofs.map(({ challenge }) => challenge)).toEqual(["challenge 1", "challenge 2"]);
});

test("a device's clock that is hours off or jumps changes nothing", async () => {
  const clock = vi.spyOn(Date, "now").mockReturnValue(0);
  await sessions(bearerOf(credential));
  clock.mockReturnValue(40_000_000);
  await sessions(bearerOf(credential));
  expect(daemon.proofs).toHaveLength(1);
});

test("a refused proof is not tried again", async () => {
  daemon.refusals = ["revoked", "revoked"];
  await expect(sessions(bearerOf(credential))).rejects.toMatchObject({ problem: { code: "revoked" } });
  expect(daemon.proofs).toHaveLength(1);
});

test("a challenge that was asked for ahead of time is the one that is proven", async () => {
  prepare();
  prepare();
  await sessions(bearerOf(credential));
  prepare();
  expect(daemon.calls).toEqual(["/v1/auth/challenge", "/v1/health", "/v1/auth/proof", "/v1/sessions"]);
});

test("another daemon at this address is sent no token and no proof", async () => {
  daemon.instance = "other";
  await expect(sessions(bearerOf(credential))).rejects.toThrow(OtherDaemon);
  expect(daemon.calls).toEqual(["/v1/health"]);
  daemon.instance = "i";
  await sessions(bearerOf(credential));
  // A token is at hand now, and the tunnel leads elsewhere.
  daemon.instance = "other";
  time += 5_000;
  daemon.calls = [];
  const asked = [sessions(bearerOf(credential)), sessions(bearerOf(credential))];
  for (const one of asked) await expect(one).rejects.toThrow(OtherDaemon);
  expect(daemon.calls).toEqual(["/v1/health"]);
});
