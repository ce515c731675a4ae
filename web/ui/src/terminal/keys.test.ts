import { describe, expect, test } from "vitest";
import { encoded, KITTY, type KeyModes, type Press } from "./keys";

const LEGACY: KeyModes = { applicationCursor: false, kitty: 0, otherKeys: 0 };

/** "C-S-ArrowUp": C, A, S and M are modifiers. */
function press(name: string, extra: Partial<Press> = {}): Press {
  const parts = name.split(/-(?=.)/);
  const key = parts.pop() ?? "";
  const has = (letter: string): boolean => parts.includes(letter);
  const code = /^[a-z]$/i.test(key) ? `Key${key.toUpperCase()}` : "";
  return { key, code, ctrl: has("C"), alt: has("A"), shift: has("S"), meta: has("M"), altGraph: false, kind: "press", ...extra };
}

const sent = (name: string, modes: Partial<KeyModes> = {}, extra: Partial<Press> = {}): string | null =>
  encoded(press(name, extra), { ...LEGACY, ...modes });

describe("without being asked for another form", () => {
  test.each([
    ["a", "a"],
    ["S-A", "A"],
    ["é", "é"],
    ["C-c", "\x03"],
    ["C-S-C", "\x03"],
    ["C- ", "\0"],
    ["C-[", "\x1b"],
    ["C-/", "\x1f"],
    ["A-x", "\x1bx"],
    ["C-A-x", "\x1b\x18"],
    ["Enter", "\r"],
    ["A-Enter", "\x1b\r"],
    ["Tab", "\t"],
    ["S-Tab", "\x1b[Z"],
    ["Escape", "\x1b"],
    ["Backspace", "\x7f"],
    ["C-Backspace", "\b"],
    ["ArrowUp", "\x1b[A"],
    ["C-ArrowLeft", "\x1b[1;5D"],
    ["C-A-S-End", "\x1b[1;8F"],
    ["Delete", "\x1b[3~"],
    ["C-Delete", "\x1b[3;5~"],
    ["F1", "\x1bOP"],
    ["S-F1", "\x1b[1;2P"],
    ["F12", "\x1b[24~"],
  ])("%s sends what terminals always sent", (name, bytes) => expect(sent(name)).toBe(bytes));

  test("cursor keys follow the program's mode, unless modified", () => {
    expect(sent("ArrowUp", { applicationCursor: true })).toBe("\x1bOA");
    expect(sent("C-ArrowUp", { applicationCursor: true })).toBe("\x1b[1;5A");
    expect(sent("Delete", { applicationCursor: true })).toBe("\x1b[3~");
  });

  test("a shortcut of the system is left to the browser", () => expect(sent("M-c")).toBeNull());

  test("a modifier, a dead key and a release send nothing", () => {
    for (const name of ["Shift", "Dead", "CapsLock"]) expect(sent(name)).toBeNull();
    expect(sent("a", {}, { kind: "release" })).toBeNull();
  });

  test("a character of the third level is no shortcut", () =>
    expect(sent("C-A-@", {}, { altGraph: true, code: "KeyQ" })).toBe("@"));

  test("Ctrl and Alt act on the key's place where the layout is not Latin", () => {
    expect(sent("C-с", {}, { code: "KeyC" })).toBe("\x03");
    expect(sent("A-ц", {}, { code: "KeyW" })).toBe("\x1bw");
  });
});

describe("under modifyOtherKeys", () => {
  test("level 1 changes only what would lose a modifier", () => {
    expect(sent("C-c", { otherKeys: 1 })).toBe("\x03");
    expect(sent("C-1", { otherKeys: 1 })).toBe("\x1b[27;5;49~");
    expect(sent("S-Enter", { otherKeys: 1 })).toBe("\x1b[27;2;13~");
    expect(sent("C-Tab", { otherKeys: 1 })).toBe("\x1b[27;5;9~");
    expect(sent("S-Tab", { otherKeys: 1 })).toBe("\x1b[Z");
    expect(sent("A-x", { otherKeys: 1 })).toBe("\x1bx");
  });

  test("level 2 changes every modified character", () => {
    expect(sent("C-c", { otherKeys: 2 })).toBe("\x1b[27;5;99~");
    expect(sent("A-x", { otherKeys: 2 })).toBe("\x1b[27;3;120~");
    expect(sent("S-A", { otherKeys: 2 })).toBe("A");
    expect(sent("C-ArrowUp", { otherKeys: 2 })).toBe("\x1b[1;5A");
  });
});

describe("under kitty's protocol", () => {
  const flags = (kitty: number): Partial<KeyModes> => ({ kitty });

  test.each([
    ["a", "a"],
    ["S-A", "A"],
    ["Enter", "\r"],
    ["Backspace", "\x7f"],
    ["Escape", "\x1b[27u"],
    ["S-Enter", "\x1b[13;2u"],
    ["C-c", "\x1b[99;5u"],
    ["C-S-C", "\x1b[99;6u"],
    ["A-x", "\x1b[120;3u"],
    ["S-Tab", "\x1b[9;2u"],
    ["ArrowUp", "\x1b[A"],
    ["C-ArrowUp", "\x1b[1;5A"],
    ["F1", "\x1b[P"],
    ["F3", "\x1b[13~"],
    ["Delete", "\x1b[3~"],
  ])("%s is told apart from all others", (name, bytes) => expect(sent(name, flags(KITTY.disambiguate))).toBe(bytes));

  test("cursor keys have one form, whatever DECCKM says", () =>
    expect(sent("ArrowUp", { kitty: 1, applicationCursor: true })).toBe("\x1b[A"));

  test("repeats and releases are told where the program wants them", () => {
    const modes = flags(KITTY.disambiguate | KITTY.events);
    expect(sent("ArrowUp", modes, { kind: "repeat" })).toBe("\x1b[1;1:2A");
    expect(sent("a", modes, { kind: "release" })).toBe("\x1b[97;1:3u");
    expect(sent("a", modes, { kind: "repeat" })).toBe("a");
    expect(sent("Enter", modes, { kind: "release" })).toBeNull();
    expect(sent("a", flags(KITTY.disambiguate), { kind: "release" })).toBeNull();
  });

  test("every key is a sequence where the program wants that", () => {
    expect(sent("a", flags(KITTY.all))).toBe("\x1b[97u");
    expect(sent("Enter", flags(KITTY.all))).toBe("\x1b[13u");
    expect(sent("Shift", flags(KITTY.all), { code: "ShiftRight", shift: true })).toBe("\x1b[57447;2u");
    expect(sent("S-A", flags(KITTY.all | KITTY.text))).toBe("\x1b[97;2;65u");
    expect(sent("a", flags(KITTY.all | KITTY.text))).toBe("\x1b[97;;97u");
  });

  test("other layouts and Shift are told as alternates", () => {
    const modes = flags(KITTY.disambiguate | KITTY.alternates);
    expect(sent("C-S-A", modes)).toBe("\x1b[97:65;6u");
    expect(sent("C-с", modes, { code: "KeyC" })).toBe("\x1b[1089::99;5u");
    expect(sent("C-S-!", modes, { code: "Digit1" })).toBe("\x1b[49:33;6u");
  });
});
