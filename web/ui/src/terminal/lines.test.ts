import { Terminal } from "@xterm/xterm";
import { expect, test } from "vitest";
import type { Line } from "../protocol";
import { drawLines } from "./lines";
import { daemonWidths } from "./widths";

const line = (number: number, text: string, wrapped = false): Line => ({ number, ansi: `\x1b[31m${text}\x1b[0m`, text, wrapped });

async function rows(...pictures: Line[][]): Promise<[string, boolean][]> {
  const terminal = new Terminal({ allowProposedApi: true, cols: 6, rows: 2, scrollback: 100 });
  terminal.unicode.register(daemonWidths);
  terminal.unicode.activeVersion = daemonWidths.version;
  for (const lines of pictures) await new Promise<void>((resolve) => terminal.write(drawLines(lines, 6), resolve));
  const { active } = terminal.buffer;
  return Array.from({ length: active.length }, (_, at) => {
    const row = active.getLine(at);
    return [row?.translateToString(true) ?? "", row?.isWrapped ?? false];
  });
}

test("each line takes one row, and a continued one is known as that", async () => {
  const lines = [line(0, "abcdef", true), line(1, "gh"), line(2, ""), line(3, "漢字漢", true), line(4, "字")];
  expect(await rows(lines)).toEqual([["abcdef", false], ["gh", true], ["", false], ["漢字漢", false], ["字", true]]);
});

test("a wide sign that did not fit leaves its row short, and the next row is still the next line", async () => {
  expect(await rows([line(0, "abcde", true), line(1, "漢")])).toEqual([["abcde", false], ["漢", false]]);
});

test("another picture leaves nothing of the one before", async () => {
  expect(await rows([line(0, "a"), line(1, "b"), line(2, "c")], [line(0, "d"), line(1, "e")])).toEqual([["d", false], ["e", false]]);
});
