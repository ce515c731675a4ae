import type { IParser } from "@xterm/xterm";

/**
 * Keeps the widget from answering what a program asks its terminal: the daemon answers, once for everybody.
 * Registered handlers run before the built-in ones; `true` says that the sequence is dealt with.
 */
export function muteAnswers(parser: IParser): void {
  const dealtWith = (): boolean => true;
  for (const id of QUERIES) parser.registerCsiHandler(id, dealtWith);
  parser.registerDcsHandler({ intermediates: "$", final: "q" }, dealtWith);
  parser.registerDcsHandler({ intermediates: "+", final: "q" }, dealtWith);
  for (const number of COLOUR_COMMANDS) parser.registerOscHandler(number, asksForColour);
}

/** Whether data that the widget sends is its own word on focus: with several at one session there is no one focus. */
export function isFocusReport(data: string): boolean {
  return data === "\x1b[I" || data === "\x1b[O";
}

/** Colours may be set, not asked for: `4;1;?` or `11;?`. */
function asksForColour(data: string): boolean {
  return data.split(";").includes("?");
}

/** DA1 to DA3, DSR and DECXCPR, DECRQM, window reports, XTVERSION, kitty keyboard and terminal-parameter queries. */
const QUERIES = [
  { final: "c" },
  { prefix: ">", final: "c" },
  { prefix: "=", final: "c" },
  { final: "n" },
  { prefix: "?", final: "n" },
  { intermediates: "$", final: "p" },
  { prefix: "?", intermediates: "$", final: "p" },
  { final: "t" },
  { final: "x" },
  { prefix: ">", final: "q" },
  { prefix: "?", final: "u" },
];

const COLOUR_COMMANDS = [4, 10, 11, 12];
