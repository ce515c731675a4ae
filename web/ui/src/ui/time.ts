import { signal } from "@preact/signals";
import { strings } from "../strings";

/** Ticks while the page is looked at, for texts that say how long ago something was. */
export const tick = signal(0);

/** A length of time in its greatest unit. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return strings.time.seconds(seconds);
  if (seconds < 3600) return strings.time.minutes(Math.floor(seconds / 60));
  if (seconds < 86_400) return strings.time.hours(Math.floor(seconds / 3600));
  return strings.time.days(Math.floor(seconds / 86_400));
}

/** How long ago a time was; the first minute is one. */
export function ago(then: number, now: number): string {
  return now - then < 60_000 ? strings.time.now : duration(now - then);
}

/** The time of day, with 24 hours: short enough for the narrowest screen. */
export function clockTime(milliseconds: number): string {
  return new Date(milliseconds).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
}

/** A day and a time of day, of a time as the daemon writes it. */
export function dateAndTime(time: string): string {
  return new Date(time).toLocaleString([], { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" });
}

/** Makes `tick` run; returns what stops it. */
export function startTicking(): () => void {
  const timer = setInterval(() => {
    if (document.visibilityState === "visible") tick.value += 1;
  }, TICK);
  return () => clearInterval(timer);
}

/** The texts change by the minute. */
const TICK = 15_000;
