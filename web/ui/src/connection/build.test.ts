import { beforeEach, expect, test, vi } from "vitest";
import { dismissOutdated, isOutdated, noteBuild } from "./build";

const OWN = "0123456789abcdef";
const update = vi.fn(async () => undefined);

beforeEach(() => {
  isOutdated.value = false;
  update.mockClear();
  vi.stubGlobal("navigator", { serviceWorker: { getRegistration: async () => ({ update }) } });
});

test("a page of the daemon's own build is not outdated", () => {
  noteBuild(OWN, OWN);
  expect(isOutdated.value).toBe(false);
});

test("a page of another build is, and the browser looks for the new one's worker once", async () => {
  noteBuild("fedcba9876543210", OWN);
  noteBuild("fedcba9876543210", OWN);
  await vi.waitFor(() => expect(update).toHaveBeenCalledTimes(1));
  expect(isOutdated.value).toBe(true);
});

test("a daemon that went back to the page's build takes the word back", () => {
  noteBuild("fedcba9876543210", OWN);
  noteBuild(OWN, OWN);
  expect(isOutdated.value).toBe(false);
});

test("what was dismissed is not said again, and the next build is, and each is looked for once", async () => {
  noteBuild("1111111111111111", OWN);
  dismissOutdated();
  noteBuild("1111111111111111", OWN);
  expect(isOutdated.value).toBe(false);
  await vi.waitFor(() => expect(update).toHaveBeenCalledTimes(1));
  noteBuild("2222222222222222", OWN);
  expect(isOutdated.value).toBe(true);
  await vi.waitFor(() => expect(update).toHaveBeenCalledTimes(2));
});

test("nothing is said of a daemon that names no build, nor by a page that has none", () => {
  noteBuild(undefined, OWN);
  expect(isOutdated.value).toBe(false);
  noteBuild(OWN, null);
  expect(isOutdated.value).toBe(false);
});
