import "fake-indexeddb/auto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Refused } from "../api/client";
import { authenticate, device, endOf, giveUp, identify, NoAccess, verdict } from "./access";
import { forgetDaemon } from "./daemon";
import { makeKey } from "./key";
import { forgetAccess } from "./proof";
import { load, save, type Credential } from "./store";

vi.stubGlobal("structuredClone", <T>(value: T): T => value);

const INSTANCE = "00112233aabbccdd";

/** A daemon that answers a commit so. */
function answers(status: number, code: string): void {
  vi.stubGlobal("fetch", async (path: string): Promise<Response> => {
    if (path === "/v1/health") return Response.json({ status: "ok", version: "0", instance: INSTANCE });
    if (status === 204) return new Response(null, { status });
    return Response.json({ status, code, title: code, detail: code, hint: "" }, { status });
  });
}

let former: Credential;

beforeEach(async () => {
  device.value = null;
  verdict.value = null;
  forgetDaemon();
  vi.stubGlobal("document", { title: "", querySelector: () => null });
  forgetAccess();
  const key = await makeKey();
  former = { instance: INSTANCE, deviceId: "dev_1", token: "tsm_dev_1", label: "phone", role: "viewer", key, uncommitted: "req_1" };
  await save(former);
});

/** Another window of this browser pairs it anew. */
async function pairedAnew(): Promise<Credential> {
  const anew = { ...former, deviceId: "dev_2", token: "tsm_dev_2", uncommitted: null };
  await save(anew);
  return anew;
}

const revoked = new Refused({ type: "", title: "", status: 401, code: "revoked", detail: "", hint: "" });

afterEach(() => vi.unstubAllGlobals());

const attempt = (): Promise<unknown> => authenticate(new AbortController().signal).catch((error: unknown) => error);

test.each([
  [403, "wrong_host"],
  [421, "other_principal"],
  [429, "too_many_requests"],
  [409, "locked_down"],
  [503, "store_failed"],
])("a commit that is refused with %i %s for now takes no key away", async (status, code) => {
  answers(status, code);
  expect(await attempt()).not.toBeInstanceOf(NoAccess);
  expect((await load(INSTANCE))?.uncommitted).toBe("req_1");
  answers(204, "");
  expect(await attempt()).toMatchObject({ uncommitted: null });
});

test.each([
  [401, "unknown_token"],
  [410, "request_expired"],
  [404, "unknown_request"],
  [401, "revoked"],
  [401, "expired"],
])("a pairing that is over by %i %s leaves no key", async (status, code) => {
  answers(status, code);
  expect(await attempt()).toBeInstanceOf(NoAccess);
  expect(await load(INSTANCE)).toBeNull();
});

test("a window whose device was revoked erases its key", async () => {
  device.value = former;
  expect(await endOf(revoked, former)).toEqual({ kind: "ended", reason: "revoked" });
  await giveUp("revoked");
  expect([await load(INSTANCE), verdict.value]).toEqual([null, "revoked"]);
});

test("a window whose former device was revoked goes on as what another window has paired", async () => {
  device.value = former;
  const anew = await pairedAnew();
  expect(await endOf(revoked, former)).toEqual({ kind: "lost" });
  expect(device.value).toEqual(anew);
  expect(await endOf(revoked, anew)).toEqual({ kind: "ended", reason: "revoked" });
});

test("a new pairing outlives the end of the former one, however close they are", async () => {
  device.value = former;
  const ending = giveUp("revoked");
  const anew = await pairedAnew();
  await ending;
  expect(await load(INSTANCE)).toEqual(anew);

  device.value = former;
  await giveUp("expired");
  expect([await load(INSTANCE), device.value, verdict.value]).toEqual([anew, anew, null]);
});

test("who signs out is signed out, and keeps what another window has paired", async () => {
  device.value = former;
  const anew = await pairedAnew();
  await giveUp("signed_out");
  expect([await load(INSTANCE), device.value, verdict.value]).toEqual([anew, null, "signed_out"]);
});

test("a changed role does not write the former device back", async () => {
  const anew = await pairedAnew();
  vi.stubGlobal("location", { origin: "https://localhost:7443" });
  const says: Record<string, object> = {
    "/v1/health": { instance: INSTANCE },
    "/v1/auth/challenge": { challenge: "first" },
    "/v1/auth/proof": { access_token: "tsm_acc_1", expires_in: 900, challenge: "next" },
    "/v1/whoami": { role: "operator", label: "phone", life: "1" },
  };
  vi.stubGlobal("fetch", async (path: string) => Response.json(says[path]));
  device.value = former;
  const { credential } = await identify({ ...former, uncommitted: null }, new AbortController().signal);
  expect([credential, device.value, await load(INSTANCE)]).toEqual([anew, anew, anew]);
});
