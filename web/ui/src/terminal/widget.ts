import type { ITerminalOptions, Terminal } from "@xterm/xterm";
import { joinedSigns } from "./joined";
import { muteAnswers } from "./mute";
import { provideSymbols } from "./symbols";
import { appearance } from "./theme";
import { daemonWidths } from "./widths";

/** What every terminal widget of the app has in common; the line height is the stage's too. */
export function widgetOptions(): ITerminalOptions {
  return {
    allowProposedApi: true,
    fontFamily: FAMILIES,
    fontSize: 13,
    lineHeight: LINE_HEIGHT,
    macOptionIsMeta: true,
    ...appearance(),
  };
}

/** Makes a widget that is open draw as the daemon counts, and answer nothing. */
export function followDaemon(terminal: Terminal): void {
  muteAnswers(terminal.parser);
  terminal.unicode.register(daemonWidths);
  terminal.unicode.activeVersion = daemonWidths.version;
  terminal.registerCharacterJoiner(joinedSigns);
}

/** Relative to the font’s own height: fonts draw boxes and blocks as high as themselves, and more would leave gaps between rows. */
export const LINE_HEIGHT = 1;

const FAMILIES = getComputedStyle(document.documentElement).getPropertyValue("--mono").trim();

// Once, as soon as the terminal's code is there: the list shows lines of terminals, too.
provideSymbols(FAMILIES);
