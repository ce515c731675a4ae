/** What the service worker does with a request. */
export type Plan =
  /** The page that every screen starts from: the daemon's, or the kept one where there is no answer. */
  | "shell"
  /** A file whose name holds a hash of its content: the kept one, which cannot be another than the daemon's. */
  | "asset"
  /** None of its business: the API, and whatever it does not know. */
  | "pass";

/** What of a request decides that. */
export interface Asked {
  method: string;
  /** `navigate` where a page is opened. */
  mode: string;
  url: string;
}

/** What to do with a request; data never gets near a cache. */
export function planFor({ method, mode, url }: Asked, origin: string): Plan {
  const at = new URL(url);
  if (method !== "GET" || at.origin !== origin) return "pass";
  if (mode === "navigate") return isScreen(at.pathname) ? "shell" : "pass";
  return at.pathname.startsWith("/assets/") ? "asset" : "pass";
}

/** The caches that a worker deletes once it is in charge: all but its own and the last one before it, which pages that were not loaded again still read. */
export function outdated(names: readonly string[], own: string): string[] {
  const others = names.filter((name) => name.startsWith(CACHE_PREFIX) && name !== own);
  return others.slice(0, -1);
}

/** The screens of the app, as the daemon serves them. */
function isScreen(path: string): boolean {
  return path === "/" || path === "/pair" || path === "/guest" || path === "/device" || /^\/s\/[^/]+$/.test(path);
}

/** What the names of the worker's caches begin with; the build follows. */
export const CACHE_PREFIX = "transom-shell-";
