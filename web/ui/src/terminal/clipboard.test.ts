import { expect, test } from "vitest";
import { clipboardText } from "./clipboard";

test("text for any clipboard is taken", () => {
  expect(clipboardText("c;aGVsbG8=")).toBe("hello");
  expect(clipboardText(";aGVsbG8=")).toBe("hello");
  expect(clipboardText("ps;w6k=")).toBe("é");
});

test("asking for what is there, emptying it, and what is no text are not", () => {
  for (const data of ["c;?", "c;", "c", "c;!!!", "c;/w==", ""]) expect(clipboardText(data)).toBeNull();
});
