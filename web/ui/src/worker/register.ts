import { signal } from "@preact/signals";

/** Whether the browser keeps the app's shell; null while that is not known. */
export const shell = signal<"kept" | "untrusted" | "unsupported" | null>(null);

/** Lets the browser keep the app's shell, where it does: not behind a certificate that it does not trust, and nothing is missing then. */
export function keepShell(): Promise<void> {
  asked ??= register();
  return asked;
}

async function register(): Promise<void> {
  try {
    await navigator.serviceWorker.register(scriptUrl(), { updateViaCache: "none" });
    shell.value = "kept";
  } catch (error) {
    shell.value = refusalOf(error, "serviceWorker" in navigator);
    // It may have been the network: the next who asks tries again.
    if (shell.value === null) asked = null;
  }
}

/** Why a browser registers no worker: by the standard a `SecurityError` where it does not trust the connection; anything else may pass. */
export function refusalOf(error: unknown, isSupported: boolean): "untrusted" | "unsupported" | null {
  if (!isSupported) return "unsupported";
  return error instanceof DOMException && error.name === "SecurityError" ? "untrusted" : null;
}

/** Has the browser look for the worker of another build now, as the daemon serves one. */
export function renewShell(): void {
  void navigator.serviceWorker?.getRegistration().then(
    (registration) => registration?.update(),
    () => undefined,
  ).catch(() => undefined);
}

/** The app's content policy takes no script's address but from this policy of the page's own, which knows a single address. */
function scriptUrl(): string {
  const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
  // Made once: the content policy refuses another of its name.
  policy ??= types?.createPolicy("transom-worker", { createScriptURL: () => WORKER }) ?? { createScriptURL: (url) => url };
  return policy.createScriptURL(WORKER) as string;
}

/** Trusted Types, of which TypeScript knows nothing yet; what they make goes where a string would. */
interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): ScriptPolicy;
}

interface ScriptPolicy {
  createScriptURL(url: string): unknown;
}

let policy: ScriptPolicy | null = null;

let asked: Promise<void> | null = null;

const WORKER = "/sw.js";
