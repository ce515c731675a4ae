import "fake-indexeddb/auto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { authenticate, device, NoAccess } from "./access";
import { forgetDaemon } from "./daemon";
import { makeKey } from "./key";
import { load, save } from "./store";

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

beforeEach(async () => {
  device.value = null;
  forgetDaemon();
  const key = await makeKey();
  await save({ instance: INSTANCE, deviceId: "dev_1", token: "tsm_dev_1", label: "phone", role: "viewer", key, uncommitted: "req_1" });
});

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
