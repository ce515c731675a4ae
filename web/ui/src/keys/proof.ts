import { challenge as askForChallenge, prove, Refused, type Bearer } from "../api/client";
import { assertHere } from "./daemon";
import { signLines } from "./key";
import type { Credential } from "./store";

/** The access tokens of a credential. */
export function bearerOf(credential: Credential): Bearer {
  if (held?.credential.token !== credential.token) held = new AccessTokens(credential);
  return held;
}

/** Forgets the access token of this page. */
export function forgetAccess(): void {
  held = null;
}

/** Asks for a challenge ahead of time, beside the question which daemon this is, where a key will have to be proven. */
export function prepare(): void {
  if (!held?.isGood) asked ??= askForChallenge().catch(() => null);
}

/** Access tokens, one after the other, in this page's memory only: the key is proven again when the last is about to end. */
class AccessTokens implements Bearer {
  private token = "";
  /** When to prove the key again, by `performance.now()`: in a page that slept this is late, and the daemon refuses. */
  private renewAt = 0;
  /** What to prove next, from the last answer. */
  private challenge: string | null = null;
  private renewal: Promise<string> | null = null;

  constructor(readonly credential: Credential) {}

  get isGood(): boolean {
    return performance.now() < this.renewAt;
  }

  /** No token, and no proof, is for whoever answers at this address: only for the daemon that the credential is for. */
  async current(): Promise<string> {
    await assertHere(this.credential.instance);
    return this.isGood ? this.token : this.renewed();
  }

  renew(refused: string, challenge: string | undefined): Promise<string> {
    // Another request may have renewed it meanwhile.
    if (refused === this.token) {
      this.renewAt = 0;
      this.challenge = challenge ?? null;
    }
    return this.current();
  }

  /** One proof at a time: who needs a token meanwhile waits for the same. */
  private renewed(): Promise<string> {
    this.renewal ??= this.proven().finally(() => (this.renewal = null));
    return this.renewal;
  }

  private async proven(): Promise<string> {
    const challenge = this.challenge ?? (await takeAsked()) ?? (await askForChallenge());
    this.challenge = null;
    try {
      return await this.exchange(challenge);
    } catch (error) {
      const next = error instanceof Refused && STALE.includes(error.problem.code) ? error.problem.challenge : undefined;
      if (next === undefined) throw error;
      return this.exchange(next);
    }
  }

  private async exchange(challenge: string): Promise<string> {
    const audience = `origin:${location.origin}`;
    const { instance, key, deviceId, token } = this.credential;
    const signature = await signLines(key, ["transom-proof-v1", challenge, audience, deviceId]);
    await assertHere(instance);
    const proven = await prove(token, { challenge, audience, signature });
    this.token = proven.access_token;
    this.challenge = proven.challenge;
    this.renewAt = performance.now() + proven.expires_in * 1000 * RENEWED_AFTER;
    return this.token;
  }
}

function takeAsked(): Promise<string | null> {
  const taken = asked ?? Promise.resolve(null);
  asked = null;
  return taken;
}

let held: AccessTokens | null = null;
let asked: Promise<string | null> | null = null;

/** A challenge that was good once: the refusal brings another. */
const STALE = ["challenge_expired", "challenge_used", "unknown_challenge"];
/** The part of a token's life after which it is renewed. */
const RENEWED_AFTER = 0.9;
