/** Lets the browser keep the app's shell, where it does: not behind a certificate that it does not trust, and nothing is missing then. */
export function keepShell(): void {
  void navigator.serviceWorker?.register(scriptUrl(), { updateViaCache: "none" }).catch(() => undefined);
}

/** Has the browser look for the worker of another build now, as the daemon serves one. */
export function renewShell(): void {
  void navigator.serviceWorker?.getRegistration().then(
    (registration) => registration?.update(),
    () => undefined,
  ).catch(() => undefined);
}

/** The app's content policy takes no script's address but from a policy of the page's own, and this one knows a single address. */
function scriptUrl(): string {
  const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
  return types ? (types.createPolicy("transom-worker", { createScriptURL: () => WORKER }).createScriptURL(WORKER) as string) : WORKER;
}

/** Trusted Types, of which TypeScript knows nothing yet; what they make goes where a string would. */
interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): unknown };
}

const WORKER = "/sw.js";
