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

/** Forgets all input: this device is trusted no more. */
export function clearInputs(): void {
  for (const [session, queue] of queues) {
    queue.giveUp();
    sessionStorage.removeItem(KEY + session);
  }
  queues.clear();
}

/**
 * Keeps waiting input while the page is hidden, and only then: a hidden page may never run again, and a copy made of
 * a visible tab must not find input that is not its own.
 */
export function keepInputs(): void {
  const store = (): void => {
    const hidden = document.visibilityState === "hidden";
    for (const [session, queue] of queues) {
      const kept = hidden ? queue.kept() : null;
      if (kept) keep(session, kept);
      else sessionStorage.removeItem(KEY + session);
    }
  };
  document.addEventListener("visibilitychange", store);
}

function keep(session: string, kept: KeptInput): void {
  try {
    sessionStorage.setItem(KEY + session, JSON.stringify(kept));
  } catch {
    // The storage is full; while the page lives, nothing is lost.
  }
}

function take(session: string): KeptInput | null {
  const text = sessionStorage.getItem(KEY + session);
  sessionStorage.removeItem(KEY + session);
  return text === null ? null : (JSON.parse(text) as KeptInput);
}

const queues = new Map<string, InputQueue>();
const KEY = "transom.input.";
