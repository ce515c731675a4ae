import "fake-indexeddb/auto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { forgetDaemon } from "../keys/daemon";
import { forgetAccess } from "../keys/proof";
import { load } from "../keys/store";
import { afterTime, asGuest, enter, forgetIfOver, leave, type GuestView } from "./join";

vi.stubGlobal("structuredClone", <T>(value: T): T => value);

const LINK = { id: "gst_0123456789abcdef", secret: "s".repeat(43) };
const PLACE = "guest of 00112233aabbccdd";

/** What the daemon answers; a number is the status of a refusal whose code is beside it. */
let says: Record<string, object | [number, string]>;

beforeEach(() => {
  forgetDaemon();
  forgetAccess();
  says = {
    "/v1/health": { instance: "00112233aabbccdd" },
    "/v1/auth/challenge": { challenge: "first" },
    "/v1/auth/proof": { access_token: "tsm_acc_1", expires_in: 900, challenge: "next" },
    "/v1/guests/exchange": { token: "tsm_gst_1" },
    "/v1/guests/self": { sessions: ["ses_1"], expires_in: 3600 },
    "/v1/sessions": [],
  };
  vi.stubGlobal("location", { origin: "https://localhost:7443" });
  vi.stubGlobal("fetch", async (path: string): Promise<Response> => {
    const said = says[path];
    if (said === undefined) throw new TypeError("network error");
    if (!Array.isArray(said) || said.length === 0) return Response.json(said);
    const [status, code] = said as [number, string];
    return Response.json({ status, code, title: code, detail: code, hint: "" }, { status });
  });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function guest(): Promise<GuestView> {
  const state = await enter(LINK);
  if (state.kind !== "watching") throw new Error(state.kind);
  return state.guest;
}

test("the time left goes on while the device sleeps, and is what the daemon says last", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const view = await guest();
  const left = (): number => (view.until.value - Date.now()) / 1000;
  expect(left()).toBe(3600);
  vi.setSystemTime(Date.now() + 600_000);
  expect(left()).toBe(3000);
  says["/v1/guests/self"] = { sessions: ["ses_1"], expires_in: 60 };
  await asGuest(view).refresh(view.credential, new AbortController().signal);
  expect(left()).toBe(60);
});

test("a clock that was wrong ends nothing that the daemon has not ended", async () => {
  const view = await guest();
  view.until.value = Date.now();
  expect(await afterTime(view)).toBeNull();
  expect(view.until.value).toBeGreaterThan(Date.now());
  says["/v1/guests/self"] = [401, "expired"];
  expect(await afterTime(view)).toEqual({ kind: "expired" });
  delete says["/v1/guests/self"];
  expect(await afterTime(view)).toEqual({ kind: "expired" });
});

test("who has left keeps no key", async () => {
  const view = await guest();
  expect((await load(PLACE))?.token).toBe("tsm_gst_1");
  const after = await leave(view);
  expect(after).toEqual({ kind: "left" });
  await forgetIfOver(after, view.credential);
  expect(await load(PLACE)).toBeNull();
});

test.each([
  [401, "revoked", "ended"],
  [401, "expired", "expired"],
])("a guest that comes back after %i %s keeps no key", async (status, code, kind) => {
  await guest();
  says["/v1/guests/self"] = [status, code];
  expect(await enter(null)).toEqual({ kind });
  expect(await load(PLACE)).toBeNull();
});

test("a link whose time is over leaves no key", async () => {
  says["/v1/guests/exchange"] = [410, "invitation_expired"];
  expect(await enter(LINK)).toEqual({ kind: "expired" });
  expect(await load(PLACE)).toBeNull();
});

test("a daemon that does not answer takes no key away, nor does another guest's end", async () => {
  const view = await guest();
  delete says["/v1/guests/self"];
  expect(await enter(null)).toEqual({ kind: "unreachable" });
  await forgetIfOver({ kind: "ended" }, { ...view.credential, token: "tsm_gst_0" });
  expect((await load(PLACE))?.token).toBe("tsm_gst_1");
});

test("whatever goes wrong has a screen", async () => {
  says["/v1/guests/self"] = { expires_in: 60 };
  expect(await enter(LINK)).toEqual({ kind: "failed" });
});
