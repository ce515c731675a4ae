import { expect, test } from "vitest";
import { fromBase64Url, toBase64Url } from "./encoding";

test("bytes travel as base64url without padding", () => {
  expect(toBase64Url(Uint8Array.of(0xfb, 0xff))).toBe("-_8");
  expect(fromBase64Url("-_8")).toEqual(Uint8Array.of(0xfb, 0xff));
});

test("padding, other alphabets and impossible lengths are refused", () => {
  for (const text of ["-_8=", "+/8", "A", "a b"]) expect(fromBase64Url(text)).toBeNull();
});
