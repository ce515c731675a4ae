import { Terminal } from "@xterm/xterm";
import { beforeEach, expect, test } from "vitest";
import { isFocusReport, muteAnswers } from "./mute";

let terminal: Terminal;
let sent: string[];

beforeEach(() => {
  terminal = new Terminal({ allowProposedApi: true, cols: 20, rows: 5 });
  muteAnswers(terminal.parser);
  sent = [];
  terminal.onData((data) => sent.push(data));
});

const drawn = (text: string): Promise<void> => new Promise((resolve) => terminal.write(text, resolve));

test.each([
  ["device attributes", "\x1b[c\x1b[0c\x1b[>c\x1b[=c"],
  ["status and cursor position", "\x1b[5n\x1b[6n\x1b[?6n"],
  ["modes", "\x1b[?2026$p\x1b[4$p"],
  ["settings", "\x1bP$qm\x1b\\\x1bP$q q\x1b\\"],
  ["terminal parameters and version", "\x1bP+q544e\x1b\\\x1b[>0q\x1b[x"],
  ["window size", "\x1b[14t\x1b[16t\x1b[18t"],
  ["colours", "\x1b]10;?\x07\x1b]11;?\x1b\\\x1b]12;?\x07\x1b]4;1;?\x07"],
  ["keyboard flags", "\x1b[?u"],
])("a program that asks for %s hears nothing from here", async (_what, query) => {
  await drawn(`${query}x`);
  expect(sent).toEqual([]);
  expect(terminal.buffer.active.getLine(0)?.translateToString(true)).toBe("x");
});

test("what a person types is sent", () => {
  terminal.input("a", true);
  expect(sent).toEqual(["a"]);
});

test("focus reports are told from keys", () => {
  expect(["\x1b[I", "\x1b[O", "\x1bOP", "\x1b[A", "I"].map(isFocusReport)).toEqual([true, true, false, false, false]);
});
