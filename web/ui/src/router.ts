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

/** Goes to another screen of the app. */
export function navigate(to: string, how: "push" | "replace" = "push"): void {
  if (how === "push") history.pushState(null, "", to);
  else history.replaceState(null, "", to);
  path.value = location.pathname;
}

/** Lets back, forward and plain links to the app's own screens work without a load. */
export function followHistory(): void {
  window.addEventListener("popstate", () => (path.value = location.pathname));
  document.addEventListener("click", (event) => {
    const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!plain || event.defaultPrevented || !link || link.target !== "" || link.origin !== location.origin) return;
    if (routeOf(link.pathname).kind === "unknown") return;
    event.preventDefault();
    navigate(link.pathname);
  });
}
