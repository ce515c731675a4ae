import { computed, signal } from "@preact/signals";

/** A screen of the app. */
export type Route = { kind: "home" } | { kind: "pair" } | { kind: "guest" } | { kind: "device" } | { kind: "session"; id: string } | { kind: "unknown" };

/** The screen that a path names. */
export function routeOf(path: string): Route {
  if (path === "/") return { kind: "home" };
  if (path === "/pair") return { kind: "pair" };
  if (path === "/guest") return { kind: "guest" };
  if (path === "/device") return { kind: "device" };
  const session = /^\/s\/(ses_[0-9a-f]{16})$/.exec(path);
  return session?.[1] ? { kind: "session", id: session[1] } : { kind: "unknown" };
}

const path = signal(typeof location === "undefined" ? "/" : location.pathname);

/** The screen that is shown. */
export const route = computed(() => routeOf(path.value));

/** The path of the screen that was shown before this one; null while the first is shown. */
export function formerPath(): string | null {
  return former;
}

/** Goes to another screen of the app. */
export function navigate(to: string, how: "push" | "replace" = "push"): void {
  // What is before an entry stays before the one that replaces it.
  if (how === "push") history.pushState({ from: location.pathname }, "", to);
  else history.replaceState(history.state, "", to);
  arrive();
}

/** Goes to the list: back, where it is what comes before, so that the way there is no longer at each visit. */
export function toList(how: "push" | "replace" = "push"): void {
  const { from } = (history.state ?? {}) as { from?: string };
  if (from === LIST && location.pathname !== LIST) history.back();
  else navigate(LIST, how);
}

/** Lets back, forward and plain links to the app's own screens work without a load. */
export function followHistory(): void {
  window.addEventListener("popstate", arrive);
  document.addEventListener("click", (event) => {
    const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!plain || event.defaultPrevented || !link || link.target !== "" || link.origin !== location.origin) return;
    if (routeOf(link.pathname).kind === "unknown") return;
    event.preventDefault();
    if (link.pathname === LIST) toList();
    else navigate(link.pathname);
  });
}

function arrive(): void {
  if (location.pathname === path.peek()) return;
  former = path.peek();
  path.value = location.pathname;
}

let former: string | null = null;
const LIST = "/";
