import { signal, type Signal } from "@preact/signals";
import { call, challenge, health, Refused, sessions, Unreachable } from "../api/client";
import { toBase64Url } from "../api/encoding";
import { NoAccess, type Authority, type Verdict } from "../keys/access";
import { makeKey, publicPoint, signLines } from "../keys/key";
import { OtherDaemon } from "../keys/daemon";
import { bearerOf, forgetAccess } from "../keys/proof";
import { erase, load, save, StorageUnavailable, type Credential } from "../keys/store";
import type { GuestExchange, GuestJoined, GuestSelf, Problem } from "../protocol";
import type { GuestLink } from "./link";

/** Where a guest stands; all but the first two are the end of it, or of this try. */
export type GuestState =
  | { kind: "joining" }
  | { kind: "watching"; guest: GuestView }
  /** Another browser came first. */
  | { kind: "used" }
  | { kind: "ended" }
  | { kind: "expired" }
  | { kind: "left" }
  /** The daemon knows no such invitation. */
  | { kind: "unknown" }
  /** There is no link, and nobody to be from before. */
  | { kind: "none" }
  | { kind: "malformed" }
  | { kind: "storage" }
  | { kind: "unreachable" }
  | { kind: "refused"; problem: Problem }
  /** Neither the daemon nor the storage is why. */
  | { kind: "failed" };

/** A session that a guest may look at, by the name that its owner gave it. */
export interface GuestSession {
  id: string;
  name: string;
}

/** What a guest may look at. */
export interface GuestView {
  credential: Credential;
  /** Those that are there, if any is. */
  sessions: GuestSession[];
  /** When it is over, by this device's wall clock, which goes on while the device sleeps; as the daemon said it last. */
  until: Signal<number>;
}

/** Becomes a guest by a link, or is again the one that this browser was. Never rejects. */
export async function enter(link: GuestLink | null): Promise<GuestState> {
  let credential: Credential | null = null;
  try {
    const { instance } = await health();
    credential = await chosen(instance, link);
    if (!credential) return { kind: "none" };
    if (link && credential.token === "") credential = await joined(credential, link);
    return { kind: "watching", guest: await view(credential) };
  } catch (error) {
    const state = stateOf(error);
    if (credential) await forgetIfOver(state, credential);
    return state;
  }
}

/** Erases a guest's key where it opens nothing any more. */
export async function forgetIfOver({ kind }: GuestState, credential: Credential): Promise<void> {
  if (kind !== "left" && kind !== "ended" && kind !== "expired") return;
  forgetAccess();
  // Where the storage fails right now, the key that stays opens nothing either.
  await erase(placed(credential)).catch(() => undefined);
}

/** Asks, once its time should be over, whether it is; null where the daemon has given it more. */
export async function afterTime(guest: GuestView): Promise<GuestState | null> {
  try {
    await askUntil(guest.credential, guest.until);
    return guest.until.peek() > Date.now() ? null : { kind: "expired" };
  } catch (error) {
    const state = stateOf(error);
    return state.kind === "unreachable" ? { kind: "expired" } : state;
  }
}

/** Ends being a guest. */
export async function leave({ credential }: GuestView): Promise<GuestState> {
  try {
    await call("DELETE", "/v1/guests/self", { bearer: bearerOf(credential) });
    return { kind: "left" };
  } catch (error) {
    return stateOf(error);
  }
}

/** What an end of trust is to a guest. */
export function stateOfEnd(reason: Verdict): GuestState {
  return { kind: reason === "expired" ? "expired" : reason === "revoked" ? "ended" : "unknown" };
}

/** Follows sessions as a guest. */
export function asGuest({ credential, until }: GuestView): Authority {
  return {
    async authenticate(ended) {
      // The token of another daemon is never sent to the one that now answers at this address.
      const { instance } = await health(ended);
      if (instance !== credential.instance) throw new NoAccess("unpaired");
      return credential;
    },
    async refresh(_, ended) {
      await askUntil(credential, until, ended);
      return credential;
    },
    current: () => credential,
    hasSuccessor: async () => false,
  };
}

/** Whom to be: who this browser was, or whom the link makes of it, whose token is empty until it has joined; null for nobody. */
async function chosen(instance: string, link: GuestLink | null): Promise<Credential | null> {
  const kept = await load(placeOf(instance));
  const known = kept && { ...kept, instance };
  if (!link || (known?.deviceId === link.id && known.token !== "")) return known?.token ? known : null;
  const key = known?.deviceId === link.id ? known.key : await makeKey();
  return { instance, deviceId: link.id, token: "", label: "", role: "viewer", key, uncommitted: null };
}

/** The key is kept before the link is shown with it: after a lost answer the same key asks again, and is not refused. */
async function joined(credential: Credential, link: GuestLink): Promise<Credential> {
  await save(placed(credential));
  const { token } = await exchange(link, credential.key);
  const whole = { ...credential, token };
  await save(placed(whole));
  return whole;
}

async function exchange({ id, secret }: GuestLink, key: CryptoKeyPair): Promise<GuestJoined> {
  const audience = `origin:${location.origin}`;
  const asked = await challenge();
  const body: GuestExchange = {
    id,
    secret,
    public_key: toBase64Url(await publicPoint(key)),
    challenge: asked,
    audience,
    signature: await signLines(key, ["transom-guest-v1", asked, audience, id]),
  };
  return call("POST", "/v1/guests/exchange", { body });
}

async function view(credential: Credential): Promise<GuestView> {
  const bearer = bearerOf(credential);
  const until = signal(0);
  const own = await askUntil(credential, until);
  const names = new Map((await sessions(bearer)).map(({ id, name }) => [id, name]));
  const named = own.sessions.map((id) => ({ id, name: names.get(id) ?? "" }));
  const there = named.filter(({ name }) => name !== "");
  return { credential, sessions: there.length > 0 ? there : named, until };
}

/** Asks who the guest is, which says for how long. */
async function askUntil(credential: Credential, until: Signal<number>, ended?: AbortSignal): Promise<GuestSelf> {
  const own = await call<GuestSelf>("GET", "/v1/guests/self", { bearer: bearerOf(credential), signal: ended });
  until.value = Date.now() + own.expires_in * 1000;
  return own;
}

function stateOf(error: unknown): GuestState {
  if (error instanceof StorageUnavailable) return { kind: "storage" };
  if (error instanceof Unreachable || error instanceof OtherDaemon) return { kind: "unreachable" };
  if (!(error instanceof Refused)) return { kind: "failed" };
  const known = STATES[error.problem.code];
  return known ? { kind: known } : { kind: "refused", problem: error.problem };
}

/** One daemon's guest stands beside its device. */
function placeOf(instance: string): string {
  return `guest of ${instance}`;
}

function placed(credential: Credential): Credential {
  return { ...credential, instance: placeOf(credential.instance) };
}

const STATES: Record<string, "used" | "ended" | "expired" | "unknown" | undefined> = {
  invitation_used: "used",
  invitation_ended: "ended",
  revoked: "ended",
  invitation_expired: "expired",
  expired: "expired",
  invitation_burned: "unknown",
  unknown_invitation: "unknown",
  invalid_token: "unknown",
};
