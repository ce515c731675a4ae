import { signal } from "@preact/signals";
import { call, Refused, whoAmI } from "../api/client";
import type { EndReason } from "../connection/machine";
import { linkEndOf } from "../connection/refusals";
import { strings } from "../strings";
import { noteBuild } from "../connection/build";
import { assertHere, whichDaemon } from "./daemon";
import { bearerOf, forgetAccess, prepare } from "./proof";
import { amend, erase, load, StorageUnavailable, type Credential } from "./store";
import type { LinkEnd, Probe } from "../connection/connection";

/** The device that this browser is to the daemon at this address; null while unknown or none. */
export const device = signal<Credential | null>(null);

/** Why the daemon trusts this device no more; null while it may. The app makes no request after it. */
export const verdict = signal<Verdict | null>(null);

/** An end of trust. */
export type Verdict = "revoked" | "expired" | "unrecognised" | "signed_out";

/** As whom a session is followed: this browser's device, or a guest. */
export interface Authority {
  /** Whom the daemon at this address knows; rejects with `NoAccess` where nobody. */
  authenticate(ended: AbortSignal): Promise<Credential>;
  /** Asks who that is now. */
  refresh(credential: Credential, ended: AbortSignal): Promise<Credential>;
  /** Who it was last; null while unknown. */
  current(): Credential | null;
  /** Whether it is somebody else by now than the one that was refused: another window of this browser was paired anew. */
  hasSuccessor(refused: Credential): Promise<boolean>;
}

/** Thrown where a link cannot go on: nobody to be. */
export class NoAccess extends Error {
  override readonly name = "NoAccess";

  constructor(readonly reason: EndReason) {
    super(reason);
  }
}

/**
 * Asks the daemon which one it is, then takes the credential for exactly that one: the token of another daemon
 * is never sent to it, whatever now answers at this address.
 */
export async function authenticate(ended: AbortSignal): Promise<Credential> {
  prepare();
  const instance = await whichDaemon(ended);
  const known = device.peek();
  if (known && known.instance !== instance) device.value = null;
  const credential = device.peek() ?? (await load(instance));
  if (!credential) throw new NoAccess("unpaired");
  const usable = await committed(credential);
  if (device.peek()?.token !== usable.token) device.value = usable;
  return usable;
}

/** Asks who this device is; keeps a changed role or label. */
export async function refresh(credential: Credential, ended: AbortSignal): Promise<Credential> {
  return (await identify(credential, ended)).credential;
}

/** The same, with the run of the daemon that answered. */
export async function identify(credential: Credential, ended: AbortSignal): Promise<{ credential: Credential; life: string }> {
  const { role: newRole, label: newLabel, life, app } = await whoAmI(bearerOf(credential), ended);
  noteBuild(app);
  lastLife = life;
  const role = newRole ?? credential.role;
  const label = newLabel ?? credential.label;
  if (role === credential.role && label === credential.label) return { credential, life };
  const now = await keptWith(credential, { role, label });
  device.value = now;
  return { credential: now, life };
}

/** What this browser is by now; a storage that fails right now loses no more than a change, which the daemon tells again. */
async function keptWith(credential: Credential, change: Partial<Credential>): Promise<Credential> {
  const changed = { ...credential, ...change };
  try {
    return (await amend(credential, change)) ?? changed;
  } catch (error) {
    if (error instanceof StorageUnavailable) return changed;
    throw error;
  }
}

/** This browser's device. */
export const asDevice: Authority = { authenticate, refresh, current: () => device.peek(), hasSuccessor };

/** Whether this run of the daemon has said who this device is, and which build of the app it serves. */
export function hasIdentified(life: string): boolean {
  return lastLife === life;
}

/** Times a round trip as this device, and learns for certain whether it still is one; lost where `isTrue` denies the run that answers. */
export function probeAs(isTrue: (life: string) => boolean): Probe {
  return async (ended) => {
    const credential = device.peek();
    if (!credential) return { kind: "ended", reason: "unpaired" };
    try {
      // Asked first, so that the time is that of one round trip.
      await assertHere(credential.instance);
      const begun = performance.now();
      const { life } = await identify(credential, ended);
      return isTrue(life) ? Math.round(performance.now() - begun) : { kind: "lost" };
    } catch (error) {
      return ended.aborted ? { kind: "lost" } : endOf(error, credential);
    }
  };
}

/** What an error means for a connection of somebody; a refusal of who this browser was before is no end of what it is now. */
export async function endOf(error: unknown, refused: Credential | null, authority: Authority = asDevice): Promise<LinkEnd> {
  if (error instanceof NoAccess) return { kind: "ended", reason: error.reason };
  const end = linkEndOf(error);
  const isOver = end.kind === "ended" && isVerdict(end.reason);
  return isOver && refused && (await authority.hasSuccessor(refused)) ? { kind: "lost" } : end;
}

/** The same, whichever run it is. */
export const probe = probeAs(() => true);

/** Ends this device's part: its key is erased, whether or not the page lives to see it, and nothing more is asked. */
export async function giveUp(reason: Verdict): Promise<void> {
  const credential = device.peek();
  verdict.value = reason;
  device.value = null;
  forgetAccess();
  document.title = strings.product;
  if (!credential || reason === "unrecognised") return;
  // A browser whose storage fails right now has nothing left that opens anything: the daemon refuses the token.
  const successor = await erase(credential).catch(() => null);
  // Whoever signs out here sees that, and not what another window is.
  if (!successor || reason === "signed_out") return;
  device.value = successor;
  verdict.value = null;
}

/** Whether a connection's end is an end of trust. */
export function isVerdict(reason: EndReason): reason is Verdict {
  return reason === "revoked" || reason === "expired" || reason === "unrecognised" || reason === "signed_out";
}

/** The page closed between exchange and commit: a commit is idempotent, so it is said again. */
async function committed(credential: Credential): Promise<Credential> {
  if (credential.uncommitted === null) return credential;
  let now: Credential | null;
  try {
    await call("POST", `/v1/pairing/requests/${credential.uncommitted}/commit`, { bearer: credential.token });
    now = await amend(credential, { uncommitted: null });
  } catch (error) {
    if (!(error instanceof Refused) || !FINAL.includes(error.problem.code)) throw error;
    now = await erase(credential);
  }
  if (!now) throw new NoAccess("unpaired");
  return committed(now);
}

/** Takes up what another window of this browser has become. */
async function hasSuccessor(refused: Credential): Promise<boolean> {
  const kept = await load(refused.instance).catch(() => null);
  if (!kept || kept.token === refused.token) return false;
  device.value = kept;
  return true;
}

let lastLife: string | null = null;

/** Refusals after which a pairing can be finished no more. Any other may pass, and the key is needed then. */
const FINAL = ["unknown_token", "request_expired", "unknown_request", "not_found", "revoked", "expired"];
