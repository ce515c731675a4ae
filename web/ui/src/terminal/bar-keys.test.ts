import { expect, test } from "vitest";
import { ALL_KEYS, keysOf, MOST_KEYS, parsed } from "./bar-keys";

const ids = (chosen: readonly unknown[]): string[] => keysOf(chosen).map(({ id }) => id);

test("keys stand in the order in which they were chosen, each once", () =>
  expect(ids(["F1", "Tab", "F1", "ctrl-c"])).toEqual(["F1", "Tab", "ctrl-c"]));

test("what nobody knows is left out, and where nothing is left the usual keys come back", () => {
  expect(ids(["Tab", "a-key-of-a-later-version", 7])).toEqual(["Tab"]);
  expect(ids([])).toEqual(["Escape", "Tab", "ctrl", "alt", "ArrowLeft", "ArrowDown", "ArrowUp", "ArrowRight"]);
});

test("a small phone has room for no more than two rows", () => expect(keysOf(ALL_KEYS.map(({ id }) => id))).toHaveLength(MOST_KEYS));

test("no two keys have one id", () => expect(new Set(ALL_KEYS.map(({ id }) => id)).size).toBe(ALL_KEYS.length));

test("whatever the storage holds is survived", () => {
  for (const stored of [null, "", "{", "{}", "3", "null"]) expect(parsed(stored)).toEqual([]);
  expect(parsed('["Tab"]')).toEqual(["Tab"]);
});
