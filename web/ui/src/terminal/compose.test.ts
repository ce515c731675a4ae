import { expect, test } from "vitest";
import { addedCharacter } from "./compose";

test("one more character is found wherever it was put", () => {
  expect(addedCharacter("", "c")).toBe("c");
  expect(addedCharacter("ls", "lcs")).toBe("c");
  expect(addedCharacter("ls", "ls🚀")).toBe("🚀");
  expect(addedCharacter("aa", "aaa")).toBe("a");
});

test("any other change is no key", () => {
  expect(addedCharacter("ls", "l")).toBeNull();
  expect(addedCharacter("ls", "ls -")).toBeNull();
  expect(addedCharacter("ab", "xyz")).toBeNull();
});
