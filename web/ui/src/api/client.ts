import type { ChallengeMade, DeviceRecord, Health, NewLabel, Problem, ProofOfKey, Proven, Revoked, Screen, Session, WhoAmI } from "../protocol";
import { sessionsOf } from "./shape";

/** The daemon gave no answer: network, TLS, a daemon that is not running, or time ran out. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";
}

/** The daemon answered with a problem (RFC 9457). */
export class Refused extends Error {
  override readonly name = "Refused";

  constructor(readonly problem: Problem) {
    super(problem.detail);
  }
}

/** Whether it was meant for another life of the daemon, which did nothing. */
export function isStale(error: unknown): boolean {
  return error instanceof Refused && error.problem.code === "stale_life";
}

/** A credential that is proven again and again, and gives what goes into `Authorization`. */
export interface Bearer {
  /** A bearer that is good as far as anybody knows. */
  current(): Promise<string>;
  /** Another one, since this one was refused; the refusal may have brought what to prove. */
  renew(refused: string, challenge: string | undefined): Promise<string>;
}

/** What a call may say besides method and path. */
export interface CallOptions {
  /** The credential that goes into `Authorization`. */
  bearer?: string | Bearer;
  /** A body, sent as JSON. */
  body?: unknown;
  /** Ends the call. */
  signal?: AbortSignal | undefined;
  /** Milliseconds until the call counts as unanswered. */
  timeout?: number;
  /** The run of the daemon that it is meant for: another one refuses it with `stale_life`. */
  life?: string | null;
}

/** Calls the API and reads its JSON answer; an answer without a body is `undefined`. */
export async function call<T>(method: string, path: string, options: CallOptions = {}): Promise<T> {
  const timeout = AbortSignal.timeout(options.timeout ?? CALL_TIMEOUT);
  const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout;
  const answer = await request(method, path, { ...options, signal });
  try {
    const text = await answer.text();
    return (text === "" ? undefined : JSON.parse(text)) as T;
  } catch (cause) {
    throw new Unreachable("the answer broke off", { cause });
  }
}

/** Sends one request and returns the answer once it is a good one; the body is the caller's to read. */
export async function request(method: string, path: string, options: CallOptions): Promise<Response> {
  const { bearer } = options;
  if (bearer === undefined || typeof bearer === "string") return checked(method, path, { ...options, bearer });
  const shown = await bearer.current();
  try {
    return await checked(method, path, { ...options, bearer: shown });
  } catch (error) {
    if (!(error instanceof Refused) || !WANTS_PROOF.includes(error.problem.code)) throw error;
    return checked(method, path, { ...options, bearer: await bearer.renew(shown, error.problem.challenge) });
  }
}

async function checked(method: string, path: string, options: PlainOptions): Promise<Response> {
  let answer = await send(method, path, options);
  // The connection belonged to another principal; the daemon closes it, so the next one is ours.
  if (answer.status === OTHER_PRINCIPAL) answer = await send(method, path, options);
  noteServerTime(answer);
  if (!answer.ok) throw new Refused(await problemOf(answer));
  return answer;
}

/** What anybody may know of the daemon; asked before any credential is used. */
export function health(signal?: AbortSignal): Promise<Health> {
  return call("GET", "/v1/health", { signal });
}

/** What a device can prove next. */
export async function challenge(): Promise<string> {
  return (await call<ChallengeMade>("GET", "/v1/auth/challenge")).challenge;
}

/** Proves the key of a device, whose own token is the bearer. */
export function prove(deviceToken: string, body: ProofOfKey): Promise<Proven> {
  return call("POST", "/v1/auth/proof", { bearer: deviceToken, body });
}

/** Who the daemon takes the bearer for. */
export function whoAmI(bearer: Bearer, signal?: AbortSignal): Promise<WhoAmI> {
  return call("GET", "/v1/whoami", { bearer, signal });
}

/** The device's own record. */
export function ownRecord(bearer: Bearer, signal?: AbortSignal): Promise<DeviceRecord> {
  return call("GET", "/v1/devices/self", { bearer, signal });
}

/** Calls the device something else, by itself. */
export function renameSelf(bearer: Bearer, body: NewLabel): Promise<DeviceRecord> {
  return call("PATCH", "/v1/devices/self", { bearer, body });
}

/** Ends the device's trust, by itself. */
export function signOut(bearer: Bearer): Promise<Revoked> {
  return call("DELETE", "/v1/devices/self", { bearer });
}

/** All sessions that the bearer may see. */
export async function sessions(bearer: Bearer, signal?: AbortSignal): Promise<Session[]> {
  return sessionsOf(await call("GET", "/v1/sessions", { bearer, signal }));
}

/** A session's screen with lines of scrollback above it; or, with `before`, lines of scrollback above that line alone. */
export function screenOf(bearer: Bearer, session: string, lines: number, before?: number): Promise<Screen> {
  const above = before === undefined ? "" : `&before=${before}`;
  return call("GET", `/v1/sessions/${session}/screen?format=json&lines=${lines}${above}`, { bearer });
}

/** All that a session printed, as asciicast v3. */
export async function recordingOf(bearer: Bearer, session: string): Promise<Blob> {
  return (await request("GET", `/v1/sessions/${session}/recording`, { bearer })).blob();
}

/** Ends a session's program. */
export function stopSession(bearer: Bearer, session: string, life: string | null): Promise<unknown> {
  return call("POST", `/v1/sessions/${session}/stop`, { bearer, life, timeout: STOP_TIMEOUT });
}

/** Deletes a session; it can be restored for a day. */
export function deleteSession(bearer: Bearer, session: string, life: string | null): Promise<unknown> {
  return call("DELETE", `/v1/sessions/${session}`, { bearer, life, timeout: STOP_TIMEOUT });
}

/** Takes a deletion back. */
export function restoreSession(bearer: Bearer, session: string, life: string | null): Promise<unknown> {
  return call("POST", `/v1/sessions/${session}/restore`, { bearer, life });
}

/** Milliseconds since the epoch by the daemon's clock, as far as its answers told it: this device's own may be hours off. */
export function serverNow(): number {
  return Date.now() + skew;
}

type PlainOptions = Omit<CallOptions, "bearer"> & { bearer?: string | undefined };

async function send(method: string, path: string, { bearer, body, life, signal }: PlainOptions): Promise<Response> {
  const headers: Record<string, string> = {};
  if (bearer !== undefined) headers["Authorization"] = `Bearer ${bearer}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (life) headers["Transom-Life"] = life;
  try {
    return await fetch(path, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
    });
  } catch (cause) {
    throw new Unreachable("the daemon did not answer", { cause });
  }
}

async function problemOf(answer: Response): Promise<Problem> {
  const fallback: Problem = {
    type: "about:blank",
    title: answer.statusText,
    status: answer.status,
    code: `http_${answer.status}`,
    detail: `The daemon answered ${answer.status}.`,
    hint: "",
  };
  try {
    const retryAfter = Number(answer.headers.get("Retry-After"));
    if (retryAfter > 0) fallback.retry_after = retryAfter;
    return { ...fallback, ...((await answer.json()) as Partial<Problem>), status: answer.status };
  } catch {
    return fallback;
  }
}

function noteServerTime(answer: Response): void {
  const told = Date.parse(answer.headers.get("Date") ?? "");
  // The header has whole seconds: less than that is no skew.
  if (!Number.isNaN(told)) skew = Math.abs(told - Date.now()) > SKEW_NOTICED ? told - Date.now() : 0;
}

let skew = 0;

/** Long enough for a slow mobile link, short enough that nobody looks at a dead page. */
const CALL_TIMEOUT = 10_000;
/** A program has 5 s to end by itself, and then everything that it started is ended. */
const STOP_TIMEOUT = 20_000;
const SKEW_NOTICED = 5_000;
const OTHER_PRINCIPAL = 421;
/** The token has ended; or so many of others were wrong that the daemon does not say what is wrong with this one. */
const WANTS_PROOF = ["access_ended", "too_many_failures"];
