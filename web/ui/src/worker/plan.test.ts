import { expect, test } from "vitest";
import { outdated, planFor } from "./plan";

const ORIGIN = "https://localhost:7443";
const plan = (path: string, mode = "cors", method = "GET") => planFor({ method, mode, url: new URL(path, ORIGIN).href }, ORIGIN);

test.each(["/", "/pair", "/guest", "/device", "/s/ses_0123456789abcdef"])("opening %s is the shell's", (path) => {
  expect(plan(path, "navigate")).toBe("shell");
});

test.each(["/v1/sessions", "/v1/events?after=3", "/v1/health", "/metrics", "/sw.js", "/manifest.webmanifest", "/"])("reading %s is none of its business", (path) => {
  expect(plan(path)).toBe("pass");
});

test("an address of the API is never a page, however it is opened", () => {
  expect(plan("/v1/sessions", "navigate")).toBe("pass");
});

test("a file with a hash in its name is read from what is kept", () => {
  expect(plan("/assets/index-1a2b3c.js")).toBe("asset");
});

test("what is sent, and what is another's, passes", () => {
  expect(plan("/assets/index-1a2b3c.js", "cors", "POST")).toBe("pass");
  expect(plan("https://example.org/assets/a.js")).toBe("pass");
  expect(plan("https://localhost:7444/", "navigate")).toBe("pass");
});

test("a new build keeps the one before it for pages that are open, and no older one", () => {
  expect(outdated(["other", "transom-shell-a", "transom-shell-b", "transom-shell-c"], "transom-shell-c")).toEqual(["transom-shell-a"]);
  expect(outdated(["transom-shell-c"], "transom-shell-c")).toEqual([]);
});
