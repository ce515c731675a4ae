import { health } from "../api/client";

/** Thrown where another daemon answers at this address than the one that a credential is for. */
export class OtherDaemon extends Error {
  override readonly name = "OtherDaemon";
}

/** Asks which daemon answers at this address. */
export async function whichDaemon(ended?: AbortSignal): Promise<string> {
  const { instance } = await health(ended);
  seen = { instance, at: performance.now() };
  return instance;
}

/** Whether this daemon has answered here just now. */
export function isHere(instance: string): boolean {
  return seen?.instance === instance && performance.now() - seen.at < TRUE_FOR;
}

/**
 * Makes sure that it is still this daemon, before anything of a credential is sent: `localhost` is one address for
 * whatever a tunnel leads to at the moment.
 */
export async function assertHere(instance: string): Promise<void> {
  if (isHere(instance)) return;
  // Who asks meanwhile waits for the same answer.
  asking ??= whichDaemon().finally(() => (asking = null));
  if ((await asking) !== instance) throw new OtherDaemon("another daemon answers at this address");
}

/** Forgets who answered, as where a connection has ended: the next may lead elsewhere. */
export function forgetDaemon(): void {
  seen = null;
}

let seen: { instance: string; at: number } | null = null;
let asking: Promise<string> | null = null;

/** Milliseconds: what follows the question at once does not ask again, on the slowest link either. */
const TRUE_FOR = 2_000;
