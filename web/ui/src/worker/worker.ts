/// <reference lib="webworker" />
import { CACHE_PREFIX, outdated, planFor } from "./plan";

/** The build that this worker belongs to, and the files of its shell; Vite writes them in. */
declare const BUILD: string;
declare const FILES: readonly string[];
declare const self: ServiceWorkerGlobalScope;

self.addEventListener("install", (event) => {
  bypass(event);
  event.waitUntil(keepShell());
});
self.addEventListener("activate", (event) => event.waitUntil(takeCharge()));
self.addEventListener("fetch", (event) => {
  const plan = planFor(event.request, self.location.origin);
  if (plan === "shell") event.respondWith(shell(event));
  if (plan === "asset") event.respondWith(asset(event.request));
});

/** All of one build or nothing: what is kept is never half of it. */
async function keepShell(): Promise<void> {
  const page = await fetch("/", { cache: "reload" });
  // The daemon may have been upgraded since it served this worker, or another one answers here.
  if (!(await page.clone().text()).includes(`content="${BUILD}"`)) throw new Error("the page is of another build");
  const isKept = await caches.has(CACHE);
  const cache = await caches.open(CACHE);
  try {
    await cache.addAll(FILES);
    await cache.put("/", page);
  } catch (error) {
    // An empty one would be taken for the build before, and that one's be deleted.
    if (!isKept) await caches.delete(CACHE);
    throw error;
  }
  await self.skipWaiting();
}

async function takeCharge(): Promise<void> {
  for (const name of outdated(await caches.keys(), CACHE)) await caches.delete(name);
  await self.registration.navigationPreload?.enable();
  await self.clients.claim();
}

/** The daemon's own page wherever it answers, so that page and daemon are of one build; else the kept one, which says what is wrong. */
async function shell(event: FetchEvent): Promise<Response> {
  const kept = caches.open(CACHE).then((cache) => cache.match("/"));
  const fresh = answer(event);
  const patience = new Promise<undefined>((resolve) => setTimeout(resolve, PATIENCE));
  try {
    return (await Promise.race([fresh, patience])) ?? (await kept) ?? (await fresh);
  } catch {
    return (await kept) ?? Response.error();
  }
}

async function answer(event: FetchEvent): Promise<Response> {
  const preloaded = (await event.preloadResponse) as Response | undefined;
  return preloaded ?? fetch(event.request);
}

async function asset(request: Request): Promise<Response> {
  return (await caches.match(request, { ignoreVary: true })) ?? fetch(request);
}

/** Where the browser knows how, what is none of the worker's business does not even start it. */
function bypass(event: ExtendableEvent): void {
  const routes = event as ExtendableEvent & { addRoutes?: (rules: object) => Promise<void> };
  const api = { condition: { urlPattern: { pathname: "/v1/*" } }, source: "network" };
  if (routes.addRoutes) event.waitUntil(routes.addRoutes([api]).catch(() => undefined));
}

const CACHE = CACHE_PREFIX + BUILD;

/** Milliseconds without an answer after which the kept page is better than none. */
const PATIENCE = 3_000;
