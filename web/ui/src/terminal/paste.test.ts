import { expect, test } from "vitest";
import { pasted } from "./paste";

test("line ends become what Enter sends", () => {
  expect(pasted("a\r\nb\nc\rd", false)).toBe("a\rb\rc\rd");
});

test("a program that asked for it gets the paste between markers", () => {
  expect(pasted("a\nb", true)).toBe("\x1b[200~a\rb\x1b[201~");
});

test.each(["x\x1b[201~rm", "x\x1b[20\x1b[201~1~rm", "x\x9b201~rm", "x\x1b\x1b[200~[201~rm"])("no end marker survives in %j", (text) => {
  expect(pasted(text, true)).toBe("\x1b[200~xrm\x1b[201~");
});
