import { call, challenge, health, Refused, sessions, Unreachable, whoAmI } from "../api/client";
import { toBase64Url } from "../api/encoding";
import { NoAccess, type Authority, type Verdict } from "../keys/access";
import { makeKey, publicPoint, signLines } from "../keys/key";
import { bearerOf } from "../keys/proof";
import { load, save, StorageUnavailable, type Credential } from "../keys/store";
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
  | { kind: "refused"; problem: Problem };

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
  /** When it is over, by `performance.now()`. */
  until: number;
}

/** Becomes a guest by a link, or is again the one that this browser was. Never rejects. */
export async function enter(link: GuestLink | null): Promise<GuestState> {
  try {
    const { instance } = await health();
    const credential = await become(instance, link);
    return credential ? { kind: "watching", guest: await view(credential) } : { kind: "none" };
  } catch (error) {
    return stateOf(error);
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
export function asGuest(credential: Credential): Authority {
  return {
    async authenticate(ended) {
      // The token of another daemon is never sent to the one that now answers at this address.
      const { instance } = await health(ended);
      if (instance !== credential.instance) throw new NoAccess("unpaired");
      return credential;
    },
    async refresh(_, ended) {
      await whoAmI(bearerOf(credential), ended);
      return credential;
    },
    current: () => credential,
    hasSuccessor: async () => false,
  };
}

/** The key is kept before the link is shown with it: after a lost answer the same key asks again, and is not refused. */
async function become(instance: string, link: GuestLink | null): Promise<Credential | null> {
  const kept = await load(placeOf(instance));
  const known = kept && { ...kept, instance };
  if (!link || (known?.deviceId === link.id && known.token !== "")) return known?.token ? known : null;
  const key = known?.deviceId === link.id ? known.key : await makeKey();
  const credential: Credential = { instance, deviceId: link.id, token: "", label: "", role: "viewer", key, uncommitted: null };
  await keep(credential);
  const joined = await exchange(link, key);
  const whole = { ...credential, token: joined.token };
  await keep(whole);
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
  const own = await call<GuestSelf>("GET", "/v1/guests/self", { bearer });
  const until = performance.now() + own.expires_in * 1000;
  const names = new Map((await sessions(bearer)).map(({ id, name }) => [id, name]));
  const named = own.sessions.map((id) => ({ id, name: names.get(id) ?? "" }));
  const there = named.filter(({ name }) => name !== "");
  return { credential, sessions: there.length > 0 ? there : named, until };
}

function stateOf(error: unknown): GuestState {
  if (error instanceof StorageUnavailable) return { kind: "storage" };
  if (error instanceof Unreachable) return { kind: "unreachable" };
  if (!(error instanceof Refused)) throw error;
  const known = STATES[error.problem.code];
  return known ? { kind: known } : { kind: "refused", problem: error.problem };
}

/** One daemon's guest stands beside its device. */
function placeOf(instance: string): string {
  return `guest of ${instance}`;
}

function keep(credential: Credential): Promise<void> {
  return save({ ...credential, instance: placeOf(credential.instance) });
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
