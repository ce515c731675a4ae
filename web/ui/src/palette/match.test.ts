import { expect, test } from "vitest";
import { fit, matching } from "./match";
import { isShortcut } from "./shortcut";

const sort = (query: string, texts: string[]): string[] => matching(query, texts, (text) => text);

test("nothing typed leaves everything in its order", () => {
  expect(sort(" ", ["b", "a"])).toEqual(["b", "a"]);
});

test("a start is better than a word's start, that than its middle, and that than scattered letters", () => {
  expect(sort("dep", ["d-e-p", "undeployed", "web deploy", "deploy"])).toEqual(["deploy", "web deploy", "undeployed", "d-e-p"]);
});

test("all words have to fit, in whatever order", () => {
  expect(sort("api build", ["build api", "build web"])).toEqual(["build api"]);
  expect(fit("zzz", "build")).toBeNull();
});

test("what is typed is text, not a pattern", () => {
  expect(sort("c++ (", ["run c++ (fast)", "run c"])).toEqual(["run c++ (fast)"]);
});

test("the shortcut is Ctrl+Shift+Space alone, and not while text is composed", () => {
  const pressed = { code: "Space", ctrlKey: true, shiftKey: true, altKey: false, metaKey: false, isComposing: false, keyCode: 32 };
  expect(isShortcut(pressed)).toBe(true);
  const others = [{ code: "KeyA" }, { ctrlKey: false }, { shiftKey: false }, { altKey: true }, { metaKey: true }, { isComposing: true }, { keyCode: 229 }];
  for (const other of others) expect(isShortcut({ ...pressed, ...other })).toBe(false);
});
