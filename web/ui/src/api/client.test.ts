import { afterEach, expect, test, vi } from "vitest";
import { call, Refused } from "./client";

afterEach(() => vi.unstubAllGlobals());

function answering(...answers: Response[]): ReturnType<typeof vi.fn> {
  const fetched = vi.fn(async () => answers.shift() ?? Response.error());
  vi.stubGlobal("fetch", fetched);
  return fetched;
}

function otherPrincipal(): Response {
  const problem = { type: "about:blank", title: "", status: 421, code: "other_principal", detail: "", hint: "" };
  return Response.json(problem, { status: 421 });
}

test("on a connection of another principal it asks once more, on the next one", async () => {
  const fetched = answering(otherPrincipal(), Response.json({ status: "ok" }));
  expect(await call("GET", "/v1/health")).toEqual({ status: "ok" });
  expect(fetched).toHaveBeenCalledTimes(2);
});

test("it asks no third time", async () => {
  const fetched = answering(otherPrincipal(), otherPrincipal(), otherPrincipal());
  await expect(call("GET", "/v1/health")).rejects.toBeInstanceOf(Refused);
  expect(fetched).toHaveBeenCalledTimes(2);
});
