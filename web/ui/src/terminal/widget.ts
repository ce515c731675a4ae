import type { ITerminalOptions } from "@xterm/xterm";
import { appearance } from "./theme";

/** What every terminal widget of the app has in common; the line height is the stage's too. */
export function widgetOptions(): ITerminalOptions {
  return {
    allowProposedApi: true,
    fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono").trim(),
    fontSize: 13,
    lineHeight: LINE_HEIGHT,
    macOptionIsMeta: true,
    ...appearance(),
  };
}

/** Relative to the font's own height. */
export const LINE_HEIGHT = 1.15;
