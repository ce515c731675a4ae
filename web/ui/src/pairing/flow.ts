import { call, Refused, signOut } from "../api/client";
import { fromBase64Url, toBase64Url } from "../api/encoding";
import { retryDelay } from "../connection/machine";
import { persist } from "../install/storage";
import { device } from "../keys/access";
import { assertHere, whichDaemon } from "../keys/daemon";
import { makeKey, publicPoint, signLines } from "../keys/key";
import { bearerOf, forgetAccess } from "../keys/proof";
import { assertKeeps, load, save, StorageUnavailable, type Credential } from "../keys/store";
import type { Exchange, Exchanged, NewRequest, Poll, Problem, Requested, Reveal } from "../protocol";
import { commitment, pairingCode } from "./code";
import type { Offer } from "./offer";

/** How far a pairing has come. */
export type PairingState =
  | { kind: "asking" }
  /** The owner compares the code; `reachable` is false while polls go unanswered, `stays` is the browser's word on keeping the key. */
  | { kind: "comparing"; code: string; reachable: boolean; stays: boolean | null }
  /** The owner said yes; the token is on its way. */
  | { kind: "approved" }
  | { kind: "paired" }
  /** Somebody decided so; `cause` is the daemon's word for who and why. */
  | { kind: "rejected"; cause: string | null }
  | { kind: "expired" }
  | { kind: "storage_unavailable" }
  | { kind: "unreachable" }
  | { kind: "refused"; problem: Problem };

/** Pairs this browser by an offer and tells each state; never rejects. */
export async function pair(
  offer: Offer,
  label: string,
  show: (state: PairingState) => void,
  ended: AbortSignal,
  replace = false,
): Promise<void> {
  show({ kind: "asking" });
  try {
    show(await run(offer, label, show, ended, replace));
  } catch (error) {
    if (!ended.aborted) show(failure(error));
  }
}

async function run(
  offer: Offer,
  label: string,
  show: (state: PairingState) => void,
  ended: AbortSignal,
  replace: boolean,
): Promise<PairingState> {
  const instance = await whichDaemon(ended);
  const former = replace ? await load(instance) : null;
  const key = await makeKey();
  await assertKeeps({ ...blank(label, key), instance: `${instance}-trial` });
  const begun = await begin(instance, offer, label, key, ended);
  const answer = await compared(begun, show, ended);
  if (answer.status === "access_denied") return { kind: "rejected", cause: answer.cause ?? null };
  if (answer.status !== "approved" || answer.exchange_nonce === undefined) return { kind: "expired" };
  show({ kind: "approved" });
  const approved = { ...begun, deadline: performance.now() + EXCHANGE_TIME };
  const credential = await exchange(approved, answer.exchange_nonce, { ...blank(label, key), instance }, ended);
  await persistently(() => call("POST", `${path(begun)}/commit`, { bearer: credential.token, signal: ended }), approved, ended);
  const committed = { ...credential, uncommitted: null };
  await save(committed);
  device.value = committed;
  if (former) await endFormer(former);
  return { kind: "paired" };
}

/** Shows the code until the owner has decided, and what the browser says to keeping the key; a browser that asks the person waits for that. */
async function compared(begun: Begun, show: (state: PairingState) => void, ended: AbortSignal): Promise<Poll> {
  let shown: Extract<PairingState, { kind: "comparing" }> = { kind: "comparing", code: begun.code, reachable: true, stays: null };
  let isDecided = false;
  const change = (part: Partial<typeof shown>): void => {
    if (!isDecided) show((shown = { ...shown, ...part }));
  };
  change({});
  void persist().then((stays) => stays !== null && change({ stays }));
  try {
    return await decision(begun, (reachable) => change({ reachable }), ended);
  } finally {
    isDecided = true;
  }
}

/** Takes back the trust in what this browser was before: only the new device is of use here now. */
async function endFormer(former: Credential): Promise<void> {
  // Where it was revoked already, or cannot be asked now, the new device is paired all the same.
  await signOut(bearerOf(former)).catch(() => undefined);
  forgetAccess();
}

/** A request that the daemon knows, with the code that it must show too. */
interface Begun {
  instance: string;
  requestId: string;
  requestSecret: string;
  code: string;
  /** When the request ends, by `performance.now()`. */
  deadline: number;
}

async function begin(
  instance: string,
  offer: Offer,
  label: string,
  key: CryptoKeyPair,
  ended: AbortSignal,
): Promise<Begun> {
  const publicKey = await publicPoint(key);
  const deviceNonce = crypto.getRandomValues(new Uint8Array(32));
  const wish: NewRequest = {
    label,
    commitment: toBase64Url(await commitment(publicKey, deviceNonce)),
    offer: { id: offer.id, secret: offer.secret },
  };
  const asked = await call<Requested>("POST", "/v1/pairing/requests", { body: wish, signal: ended });
  const begun = {
    instance,
    requestId: asked.request_id,
    requestSecret: asked.request_secret,
    deadline: performance.now() + asked.expires_in * 1000,
  };
  const reveal: Reveal = { public_key: toBase64Url(publicKey), nonce: toBase64Url(deviceNonce) };
  const options = { bearer: asked.request_secret, body: reveal, signal: ended };
  await call("POST", `${path(begun)}/reveal`, options);
  const serverNonce = fromBase64Url(asked.server_nonce) ?? new Uint8Array();
  const code = await pairingCode({ requestId: asked.request_id, publicKey, deviceNonce, serverNonce, pin: offer.pin });
  return { ...begun, code };
}

/** Polls until the owner has decided or time has run out; a cut network does not end it. */
async function decision(begun: Begun, reachable: (yes: boolean) => void, ended: AbortSignal): Promise<Poll> {
  for (;;) {
    const poll = await persistently(
      () => call<Poll>("GET", `${path(begun)}?wait=25`, { bearer: begun.requestSecret, signal: ended, timeout: POLL_TIMEOUT }),
      begun,
      ended,
      reachable,
    );
    reachable(true);
    if (poll.status === "slow_down") await pause((poll.interval + 1) * 1000, ended);
    else if (poll.status !== "authorization_pending") return poll;
  }
}

async function exchange(begun: Begun, nonce: string, draft: Credential, ended: AbortSignal): Promise<Credential> {
  const audience = `origin:${location.origin}`;
  const signature = await signLines(draft.key, ["transom-pair-v1", begun.requestId, nonce, audience]);
  const body: Exchange = { audience, signature };
  const options = { bearer: begun.requestSecret, body, signal: ended };
  // Asking again mints a new token and kills the former, so a lost answer loses nothing.
  const made = await persistently(() => call<Exchanged>("POST", `${path(begun)}/exchange`, options), begun, ended);
  const { device_id: deviceId, token, role } = made;
  const credential = { ...draft, deviceId, token, role, uncommitted: begun.requestId };
  await save(credential);
  return credential;
}

/** Asks again while the daemon, and no other one, does not answer, until the request's own deadline. */
async function persistently<T>(
  act: () => Promise<T>,
  begun: Begun,
  ended: AbortSignal,
  reachable: (yes: boolean) => void = () => undefined,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await assertHere(begun.instance);
      return await act();
    } catch (error) {
      const final = error instanceof Refused && error.problem.status !== 429 && error.problem.status < 500;
      if (final || ended.aborted || performance.now() > begun.deadline) throw error;
      reachable(false);
      await pause(retryDelay(attempt, Math.random()), ended);
    }
  }
}

function failure(error: unknown): PairingState {
  if (error instanceof StorageUnavailable) return { kind: "storage_unavailable" };
  if (!(error instanceof Refused)) return { kind: "unreachable" };
  return { kind: "refused", problem: error.problem };
}

function blank(label: string, key: CryptoKeyPair): Credential {
  return { instance: "", deviceId: "", token: "", label, role: "viewer", key, uncommitted: null };
}

function path(begun: Pick<Begun, "requestId">): string {
  return `/v1/pairing/requests/${begun.requestId}`;
}

function pause(milliseconds: number, ended: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    ended.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(ended.reason as Error);
    });
  });
}

/** The daemon answers a waiting poll after 25 s at the latest. */
const POLL_TIMEOUT = 35_000;
/** Approval gives 2 min for exchange and commit. */
const EXCHANGE_TIME = 120_000;
