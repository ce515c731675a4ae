import type { Connection } from "./connection";

/** Tells a connection what the page goes through; returns what undoes it. */
export function followPage(connection: Connection): () => void {
  const listeners = new AbortController();
  const { signal } = listeners;
  const visibility = (): void => (document.visibilityState === "visible" ? connection.wake() : connection.sleep());
  document.addEventListener("visibilitychange", visibility, { signal });
  // Page Lifecycle: a frozen page that goes on, which some systems do without hiding it first.
  document.addEventListener("resume", () => connection.wake(true), { signal });
  window.addEventListener("pageshow", (event) => event.persisted && connection.wake(true), { signal });
  window.addEventListener("online", () => connection.network(true), { signal });
  window.addEventListener("offline", () => connection.network(false), { signal });
  return () => listeners.abort();
}
