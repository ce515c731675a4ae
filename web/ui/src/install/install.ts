import { signal } from "@preact/signals";

/** How this app comes onto a home screen. */
export type Way =
  /** It is there, and this is it. */
  | "installed"
  /** The browser asks, on a button of ours. */
  | "prompt"
  /** By the share sheet of iOS. */
  | "share"
  /** By the browser's own menu. */
  | "menu"
  /** Not behind a certificate that the browser does not trust. */
  | "untrusted"
  /** This browser does not install apps, or not in this window. */
  | "none";

/** What decides that. */
export interface Setting {
  isStandalone: boolean;
  canPrompt: boolean;
  system: "ios" | "other";
  shell: "kept" | "untrusted" | "unsupported" | null;
}

/** The way that is open; claimed only where it is. */
export function wayToInstall({ isStandalone, canPrompt, system, shell }: Setting): Way {
  if (isStandalone) return "installed";
  if (shell === "untrusted") return "untrusted";
  if (canPrompt) return "prompt";
  if (shell !== "kept") return "none";
  return system === "ios" ? "share" : "menu";
}

/** Whether this runs on an iPhone or iPad, which calls itself a Mac but has fingers. */
export function systemOf(userAgent: string, touchPoints: number): "ios" | "other" {
  return /iPhone|iPad|iPod/.test(userAgent) || (/Macintosh/.test(userAgent) && touchPoints > 1) ? "ios" : "other";
}

/** Whether this window is the installed app. */
export function isStandalone(): boolean {
  return matchMedia("(display-mode: standalone)").matches || (navigator as { standalone?: boolean }).standalone === true;
}

/** The browser's offer to install the app, kept for a button of ours; null while there is none. */
export const installOffer = signal<InstallOffer | null>(null);

/** Chromium's `BeforeInstallPromptEvent`. */
export interface InstallOffer extends Event {
  prompt(): Promise<unknown>;
}

/** Keeps the browser's offer for when somebody looks for it, instead of a banner over a terminal. */
export function keepInstallOffer(): void {
  window.addEventListener("beforeinstallprompt", (event) => {
    event.preventDefault();
    installOffer.value = event as InstallOffer;
  });
  window.addEventListener("appinstalled", () => (installOffer.value = null));
}
