import { signal, type Signal } from "@preact/signals";
import { InputQueue, type KeptInput } from "./input-queue";

/**
 * The input of a session, the same object for as long as the page lives. What waited when a former page of this tab
 * was hidden for good (reloaded, or thrown away by the system) waits here again.
 */
export function inputOf(session: string): InputQueue {
  const known = queues.get(session);
  if (known) return known;
  const queue = new InputQueue(take(session));
  queues.set(session, queue);
  return queue;
}

/** The line that is being written to a session and not sent yet: the same for as long as the page lives, and again in the next one. */
export function draftOf(session: string): Signal<string> {
  const known = drafts.get(session);
  if (known) return known;
  const draft = signal(takeText(DRAFT + session) ?? "");
  drafts.set(session, draft);
  return draft;
}

/** Forgets all input, also of sessions that this page has not shown: this device is trusted no more. */
export function clearInputs(): void {
  for (const queue of queues.values()) queue.giveUp();
  for (const draft of drafts.values()) draft.value = "";
  queues.clear();
  drafts.clear();
  const names = Array.from({ length: sessionStorage.length }, (_, at) => sessionStorage.key(at) ?? "");
  for (const name of names) if (name.startsWith(KEY) || name.startsWith(DRAFT)) sessionStorage.removeItem(name);
}

/**
 * Keeps waiting input, and lines that are not sent, while the page is hidden, and only then: a hidden page may never run again, and a copy made of
 * a visible tab must not find input that is not its own.
 */
export function keepInputs(): void {
  const store = (): void => {
    const hidden = document.visibilityState === "hidden";
    for (const [session, queue] of queues) {
      const kept: KeptInput | null = hidden ? queue.kept() : null;
      keep(KEY + session, kept && JSON.stringify(kept));
    }
    for (const [session, draft] of drafts) keep(DRAFT + session, hidden ? draft.peek() : null);
  };
  document.addEventListener("visibilitychange", store);
}

function keep(name: string, text: string | null): void {
  try {
    if (text) sessionStorage.setItem(name, text);
    else sessionStorage.removeItem(name);
  } catch {
    // The storage is full; while the page lives, nothing is lost.
  }
}

function take(session: string): KeptInput | null {
  const text = takeText(KEY + session);
  return text === null ? null : (JSON.parse(text) as KeptInput);
}

function takeText(name: string): string | null {
  const text = sessionStorage.getItem(name);
  sessionStorage.removeItem(name);
  return text;
}

const queues = new Map<string, InputQueue>();
const drafts = new Map<string, Signal<string>>();
const KEY = "transom.input.";
const DRAFT = "transom.draft.";
