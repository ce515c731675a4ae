import { isStale, Refused } from "../api/client";
import { OtherDaemon } from "../keys/daemon";
import { strings } from "../strings";

/** The daemon's sentences begin small and end without a stop, to be quoted in others. */
export function sentence(text: string): string {
  if (text === "") return "";
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

/** Why the daemon did not do something, and what to do now, in words. */
export function reasonOf(error: unknown): string {
  if (isStale(error)) return strings.staleLife;
  if (error instanceof Refused) return `${error.problem.detail} ${error.problem.hint}`.trim();
  return error instanceof OtherDaemon ? strings.terminal.otherDaemon : strings.terminal.noAnswer;
}
