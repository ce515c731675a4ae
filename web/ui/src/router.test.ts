import { afterEach, expect, test, vi } from "vitest";
import { formerPath, navigate, route, routeOf, toList } from "./router";

afterEach(() => vi.unstubAllGlobals());

/** A window's history, at the screen of an address. */
function historyAt(pathname: string) {
  const entries: { state: unknown; pathname: string }[] = [{ state: null, pathname }];
  const own = { back: vi.fn() };
  const address = { pathname };
  const put = (state: unknown, to: string): void => {
    address.pathname = to;
    entries.push({ state, pathname: to });
  };
  vi.stubGlobal("location", address);
  vi.stubGlobal("history", {
    get state() {
      return entries.at(-1)?.state;
    },
    pushState: (state: unknown, _: string, to: string) => put(state, to),
    replaceState(state: unknown, _: string, to: string) {
      entries.pop();
      put(state, to);
    },
    back: own.back,
  });
  return { entries, ...own };
}

test("paths name screens", () => {
  expect(routeOf("/")).toEqual({ kind: "home" });
  expect(routeOf("/pair")).toEqual({ kind: "pair" });
  expect(routeOf("/device")).toEqual({ kind: "device" });
  expect(routeOf("/guest")).toEqual({ kind: "guest" });
  expect(routeOf("/s/ses_0123456789abcdef")).toEqual({ kind: "session", id: "ses_0123456789abcdef" });
});

test("anything else is not guessed at", () => {
  for (const path of ["/s/", "/s/ses_1", "/s/ses_0123456789abcdef/x", "/S/ses_0123456789abcdef", "/pair/"]) {
    expect(routeOf(path)).toEqual({ kind: "unknown" });
  }
});

const ONE = "/s/ses_0123456789abcdef";
const OTHER = "/s/ses_fedcba9876543210";

test("the way to the list leads back where the list is what comes before, also of a session that took another's place", () => {
  const { entries, back } = historyAt("/");
  navigate(ONE);
  navigate(OTHER, "replace");
  toList();
  expect(back).toHaveBeenCalledTimes(1);
  expect(entries).toHaveLength(2);
});

test("where something else comes before, or nothing, the list comes after", () => {
  const { entries, back } = historyAt(ONE);
  toList();
  expect(entries.map(({ pathname }) => pathname)).toEqual([ONE, "/"]);
  navigate(ONE);
  navigate(OTHER);
  toList();
  expect(back).not.toHaveBeenCalled();
  expect(route.value).toEqual({ kind: "home" });
  expect(formerPath()).toBe(OTHER);
});
