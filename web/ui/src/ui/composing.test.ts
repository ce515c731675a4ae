import { expect, test } from "vitest";
import { isForInputMethod } from "./composing";

test("the Enter that confirms a conversion is the input method's, also where the composition has ended before it", () => {
  expect(isForInputMethod({ isComposing: true, keyCode: 13 })).toBe(true);
  expect(isForInputMethod({ isComposing: false, keyCode: 229 })).toBe(true);
  expect(isForInputMethod({ isComposing: false, keyCode: 13 })).toBe(false);
});
