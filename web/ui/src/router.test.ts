import { expect, test } from "vitest";
import { routeOf } from "./router";

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
