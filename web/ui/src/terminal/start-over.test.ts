import { Terminal } from "@xterm/xterm";
import { expect, test } from "vitest";
import { startOver } from "./start-over";

test.each([
  ["a title", "\x1b]0;unfinished"],
  ["a device string", "\x1bP1;2"],
  ["a colour", "\x1b[31"],
  ["an escape", "\x1b"],
  ["a synchronized update", "\x1b[?2026h"],
  ["an application string", "\x1b_abc"],
  ["a character", Uint8Array.of(0xe6, 0xbc)],
])("a snapshot draws the same after a cut inside %s", async (_what, cut) => {
  const terminal = new Terminal({ allowProposedApi: true, cols: 20, rows: 5 });
  terminal.write("old");
  terminal.write(cut);
  startOver(terminal, { columns: 30, rows: 6 });
  await new Promise<void>((resolve) => terminal.write("snapshot", resolve));
  expect(terminal.buffer.active.getLine(0)?.translateToString(true)).toBe("snapshot");
  expect([terminal.cols, terminal.rows]).toEqual([30, 6]);
  expect(terminal.modes.synchronizedOutputMode).toBe(false);
});
