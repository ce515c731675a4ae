import { signal } from "@preact/signals";
import { renewShell } from "../worker/register";

/** Whether the daemon serves another build of this app than the page was loaded from: it was upgraded, or another one answers. */
export const isOutdated = signal(false);

/** Hears which build the daemon serves; a daemon that says nothing has none, or is older than the question. */
export function noteBuild(served: string | undefined, own: string | null = buildOf(globalThis.document)): void {
  const differs = served !== undefined && own !== null && served !== own;
  // The worker of the new build keeps its files, for the next time without a network.
  if (differs && served !== latest) renewShell();
  latest = served;
  isOutdated.value = differs && served !== dismissed;
}

/** A person has seen it; another build is said again. */
export function dismissOutdated(): void {
  dismissed = latest;
  isOutdated.value = false;
}

/** The build that Vite wrote into the page; null where there is none, as on a development server. */
export function buildOf(page: Document | undefined): string | null {
  const named = page?.querySelector<HTMLMetaElement>('meta[name="transom-build"]')?.content ?? "";
  return /^[0-9a-f]{16}$/.test(named) ? named : null;
}

let latest: string | undefined;
let dismissed: string | undefined;
