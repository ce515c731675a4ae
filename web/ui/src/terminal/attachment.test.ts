import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { concat, utf8 } from "../api/encoding";
import type { LinkEnd } from "../connection/connection";
import { device } from "../keys/access";
import { makeKey } from "../keys/key";
import { forgetDaemon } from "../keys/daemon";
import { bearerOf, forgetAccess } from "../keys/proof";
import type { Credential } from "../keys/store";
import { Attachment } from "./attachment";
import { Display } from "./display";
import { InputQueue } from "./input-queue";

/** The browser's side of a socket whose other side the test plays. */
class FakeSocket {
  static all: FakeSocket[] = [];
  static readonly OPEN = 1;
  readyState = 0;
  sent: (string | Uint8Array)[] = [];
  onopen = (): void => undefined;
  onmessage = (_event: { data: unknown }): void => undefined;
  onclose = (_event: { code: number; reason: string }): void => undefined;

  constructor(readonly url: string) {
    FakeSocket.all.push(this);
  }

  send(data: string | Uint8Array): void {
    this.sent.push(data);
  }

  open(): void {
    this.readyState = 1;
    this.onopen();
  }

  /** As in a browser, what comes once the page has closed it is dropped. */
  says(type: number, ...parts: Uint8Array[]): void {
    if (this.readyState === 1) this.onmessage({ data: concat(Uint8Array.of(type), ...parts).buffer });
  }

  /** The page closes it: that is over only once the other side answers, which a dead one never does. */
  close(): void {
    this.readyState = 2;
  }

  /** It is over. */
  cut(code = 1006, reason = ""): void {
    this.readyState = 3;
    this.onclose({ code, reason });
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const offset = (value: number): Uint8Array => Uint8Array.of(0, 0, 0, 0, 0, 0, value >> 8, value & 255);
const hello = (mode: string, at: number, applied: number | null): Uint8Array =>
  utf8(JSON.stringify({ mode, offset: at, instance: "i", name: "build", input_applied: applied }));
/** What a page sends of its own accord: that it is looked at, at the newest output. */
const LOOKS = Uint8Array.of(0x16, 3);
const SIZE = Uint8Array.of(0, 80, 0, 24);

let attachment: Attachment;
let input: InputQueue;
let opened: number;
let whoami: () => Response;

beforeEach(async () => {
  FakeSocket.all = [];
  opened = 0;
  whoami = () => Response.json({ role: device.value?.role, label: "phone" });
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("location", { host: "localhost:7443", origin: "https://localhost:7443" });
  const proven = { access_token: "tsm_acc_1", expires_in: 900, principal: "device", challenge: "next" };
  const fixed = new Map<string, object>([
    ["/v1/health", { instance: "i" }],
    ["/v1/auth/challenge", { challenge: "first" }],
    ["/v1/auth/proof", proven],
  ]);
  vi.stubGlobal("fetch", async (path: string) => (fixed.has(path) ? Response.json(fixed.get(path)) : whoami()));
  const key = await makeKey();
  const held = { instance: "i", deviceId: "dev_1", token: "tsm_dev_1", role: "operator", label: "phone", key, uncommitted: null } as const;
  device.value = held;
  forgetAccess();
  forgetDaemon();
  await bearerOf(held).current();
  const canvas = { write: (_bytes: Uint8Array, drawn: () => void) => drawn(), reset: () => undefined, resize: () => undefined };
  input = new InputQueue();
  attachment = new Attachment("ses_1", new Display(canvas, () => undefined), input);
});

afterEach(() => vi.unstubAllGlobals());

/** The input that a socket was sent: sequence and text. */
function typedIn(socket: FakeSocket): string[] {
  const inputs = socket.sent.filter((message): message is Uint8Array => message instanceof Uint8Array && message[0] === 0x10);
  return inputs.map((bytes) => `${bytes[8]}${new TextDecoder().decode(bytes.subarray(9))}`);
}

/** Begins a run and answers the first message. */
async function attach(mode = "write", at = 0, applied: number | null = 0): Promise<{ socket: FakeSocket; end: Promise<LinkEnd> }> {
  const end = attachment.link(() => (opened += 1), new AbortController().signal);
  await settled();
  const socket = FakeSocket.all.at(-1) as FakeSocket;
  socket.open();
  socket.says(0x00, hello(mode, at, applied));
  return { socket, end };
}

test("the access token is the first frame, and in no address", async () => {
  const { socket } = await attach();
  expect(socket.sent).toEqual(["tsm_acc_1", LOOKS]);
  expect(socket.url).toBe(`wss://localhost:7443/v1/sessions/ses_1/attach?mode=write&from=screen&client=${input.client}`);
});

test("it is live once the screen is there, and not before", async () => {
  const { socket } = await attach("write", 5);
  expect(opened).toBe(0);
  socket.says(0x02, offset(5), SIZE, utf8("screen"));
  expect(opened).toBe(1);
});

test("what was missed is asked for from the last offset", async () => {
  const { socket, end } = await attach();
  socket.says(0x02, offset(300), SIZE, utf8(""));
  socket.says(0x01, offset(300), utf8("four"));
  socket.cut();
  expect(await end).toEqual({ kind: "lost" });
  const { socket: second } = await attach("write", 304);
  expect(second.url).toContain("from=304");
  expect(opened).toBeGreaterThan(1);
});

test("what was typed across a cut arrives once, in order", async () => {
  const { socket, end } = await attach();
  for (const key of ["a", "b", "c"]) expect(attachment.type(key)).toBe(true);
  expect(typedIn(socket)).toEqual(["1a", "2b", "3c"]);
  socket.says(0x05, offset(1));
  socket.cut();
  await end;
  expect(attachment.type("d")).toBe(true);
  expect(input.unconfirmed.value).toBe(3);
  const { socket: second } = await attach("write", 0, 2);
  expect(typedIn(second)).toEqual(["3c", "4d"]);
  second.says(0x05, offset(4));
  expect(input.unconfirmed.value).toBe(0);
  expect(attachment.inDoubt.value).toBeNull();
});

test("where the daemon cannot tell what arrived, the person is told and nothing is sent again", async () => {
  const { socket, end } = await attach();
  attachment.type("a");
  attachment.type("\x1b[A");
  socket.cut();
  await end;
  const { socket: second } = await attach("write", 0, null);
  expect(typedIn(second)).toEqual([]);
  expect(attachment.inDoubt.value).toBe(2);
  attachment.type("c");
  expect(typedIn(second)).toEqual(["3c"]);
});

test("a device that may not type any more is told what did not arrive", async () => {
  const { socket, end } = await attach();
  socket.cut();
  await end;
  attachment.type("late");
  await attach("view");
  expect(attachment.inDoubt.value).toBe(4);
});

test("before the daemon has said that this one may type, nothing is taken", () => {
  expect(attachment.type("a")).toBe(false);
});

test("a viewer asks to view, and what it types goes nowhere", async () => {
  device.value = { ...(device.value as Credential), role: "viewer" };
  const { socket } = await attach("view");
  expect(socket.url).toContain("mode=view");
  expect(attachment.type("a")).toBe(false);
  expect(socket.sent).toEqual(["tsm_acc_1", LOOKS]);
});

test("4401 is believed only when the daemon confirms it", async () => {
  const { socket, end } = await attach();
  whoami = () => Response.json({ code: "revoked" }, { status: 401 });
  socket.cut(4401);
  expect(await end).toEqual({ kind: "ended", reason: "revoked" });
  whoami = () => Response.json({ role: "operator", label: "phone" });
  const again = await attach();
  again.socket.cut(4401);
  expect(await again.end).toEqual({ kind: "lost" });
});

test("a daemon that restarts is tried again without a question, one that has too many after a while", async () => {
  whoami = () => {
    throw new Error("nobody asks");
  };
  const { socket, end } = await attach();
  socket.cut(1012);
  expect(await end).toEqual({ kind: "lost", why: "restarting" });
  whoami = () => Response.json({ role: "operator", label: "phone" });
  const again = await attach();
  again.socket.cut(4429);
  expect(await again.end).toEqual({ kind: "lost", retryAfter: 5, why: "too_many" });
});

test("a device that lost a scope is told so, unless it is one to look now", async () => {
  const { socket, end } = await attach();
  socket.cut(4403);
  expect(await end).toEqual({ kind: "ended", reason: "not_permitted" });
  whoami = () => Response.json({ role: "viewer", label: "phone" });
  const again = await attach();
  again.socket.cut(4403);
  expect(await again.end).toEqual({ kind: "lost" });
});

test("a daemon that cannot write to its disk is tried again after a while, and that is said", async () => {
  whoami = () => {
    throw new Error("nobody asks");
  };
  const { socket, end } = await attach();
  socket.cut(4403, "the audit trail cannot be written");
  expect(await end).toEqual({ kind: "lost", retryAfter: 5, why: "unwritten" });
});

test("a message that nobody can read ends it clearly, one of a newer daemon is let go by", async () => {
  const { socket, end } = await attach();
  socket.says(0x42, utf8("new"));
  socket.says(0x02, utf8("cut"));
  expect(await end).toEqual({ kind: "ended", reason: "unreadable" });
  expect(attachment.takesInput).toBe(true);
  expect(FakeSocket.all[0]?.readyState).toBe(2);
});

test("a round trip is timed on the attachment itself", async () => {
  const { socket } = await attach();
  const trip = attachment.ping(new AbortController().signal);
  expect(socket.sent.at(-1)).toEqual(concat(Uint8Array.of(0x15), offset(1)));
  socket.says(0x07, offset(1));
  expect(await trip).toBeGreaterThanOrEqual(0);
});

test("two pings at once are each answered by their own pong, and leave nothing behind", async () => {
  const { socket } = await attach();
  vi.useFakeTimers();
  try {
    const trips = [1, 2].map(() => attachment.ping(new AbortController().signal));
    socket.says(0x07, offset(1));
    socket.says(0x07, offset(2));
    expect((await Promise.all(trips)).map((trip) => typeof trip)).toEqual(["number", "number"]);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test("a peer that says nothing after a ping is gone; one that still sends output is not", async () => {
  const { socket } = await attach();
  socket.says(0x02, offset(0), SIZE, utf8(""));
  vi.useFakeTimers();
  try {
    const ping = attachment.ping(new AbortController().signal);
    let isOver = false;
    void ping.then(() => (isOver = true));
    await vi.advanceTimersByTimeAsync(11_000);
    socket.says(0x01, offset(0), utf8("x"));
    await vi.advanceTimersByTimeAsync(11_000);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await ping).toEqual({ kind: "lost" });
  } finally {
    vi.useRealTimers();
  }
});

test("what the person sees is said at changes, and to each new attachment", async () => {
  const { socket, end } = await attach();
  attachment.look(true, true);
  attachment.look(true, false);
  attachment.look(false, false);
  expect(socket.sent.slice(1)).toEqual([LOOKS, Uint8Array.of(0x16, 1), Uint8Array.of(0x16, 0)]);
  socket.cut();
  await end;
  const { socket: second } = await attach();
  expect(second.sent[1]).toEqual(Uint8Array.of(0x16, 0));
});

const claim = (socket: FakeSocket, holder: boolean, taken: boolean, by: string | null): void =>
  socket.says(0x03, offset(0), SIZE, utf8(JSON.stringify({ holder, taken_from: taken, by })));
const CLAIM = Uint8Array.of(0x13);
const OFFER = Uint8Array.of(0x11, 0, 40, 0, 30);

test("a size is offered only with the claim, and a turned screen offers another", async () => {
  const { socket } = await attach();
  attachment.fit({ columns: 40, rows: 30 });
  attachment.offer({ columns: 80, rows: 20 });
  expect(socket.sent.slice(2)).toEqual([OFFER, CLAIM, Uint8Array.of(0x11, 0, 80, 0, 20)]);
  attachment.yield();
  expect(socket.sent.at(-1)).toEqual(Uint8Array.of(0x14));
  expect(attachment.wanted).toBeNull();
});

test("a claim that was taken is told, and not taken back", async () => {
  const { socket, end } = await attach();
  attachment.fit({ columns: 40, rows: 30 });
  claim(socket, true, false, "phone");
  claim(socket, false, true, "laptop");
  expect(attachment.claim.value).toEqual({ holder: false, taken_from: true, by: "laptop" });
  expect(attachment.wanted).toBeNull();
  socket.cut();
  await end;
  const { socket: second } = await attach();
  claim(second, false, false, "laptop");
  expect(second.sent).toEqual(["tsm_acc_1", LOOKS]);
});

test("that a claim was taken stays told while its holder changes the size, until it is dismissed", async () => {
  const { socket } = await attach();
  attachment.fit({ columns: 40, rows: 30 });
  claim(socket, true, false, "phone");
  claim(socket, false, true, "laptop");
  claim(socket, false, false, "laptop");
  const taken = { holder: false, taken_from: true, by: "laptop" };
  expect(attachment.claim.value).toEqual(taken);
  attachment.claim.value = { ...taken, taken_from: false };
  claim(socket, false, false, "laptop");
  expect(attachment.claim.value).toEqual({ ...taken, taken_from: false });
});

test("a wish for the claim outlives a cut, and is let go if somebody took it meanwhile", async () => {
  const { socket, end } = await attach();
  attachment.fit({ columns: 40, rows: 30 });
  claim(socket, true, false, "phone");
  socket.cut();
  await end;
  const again = await attach();
  expect(again.socket.sent.slice(2)).toEqual([OFFER]);
  claim(again.socket, true, false, "phone");
  again.socket.cut();
  await again.end;
  const { socket: third } = await attach();
  claim(third, false, false, "laptop");
  expect(attachment.claim.value).toEqual({ holder: false, taken_from: true, by: "laptop" });
  expect(attachment.wanted).toBeNull();
  expect(third.sent.slice(2)).toEqual([OFFER]);
});

test("presence is as the daemon says", async () => {
  const { socket } = await attach();
  socket.says(0x06, utf8('{"viewers":2,"writers":1,"typing":["phone"]}'));
  expect(attachment.presence.value).toEqual({ viewers: 2, writers: 1, typing: ["phone"] });
});

test("a session that is gone is over", async () => {
  const { socket, end } = await attach();
  socket.cut(4404);
  expect(await end).toEqual({ kind: "ended", reason: "gone" });
});

test("a lost session keeps what it shows", async () => {
  const { socket, end } = await attach();
  socket.cut(4404, "the session is lost");
  expect(await end).toEqual({ kind: "ended", reason: "lost" });
});

test("after the exit nothing is typed, and a closed attachment is no loss", async () => {
  const { socket, end } = await attach();
  socket.says(0x04, utf8('{"code":7,"signal":null,"duration_ms":1,"peak_memory_bytes":1}'));
  expect(attachment.exit.value?.code).toBe(7);
  expect(attachment.type("a")).toBe(false);
  socket.cut(1000);
  expect(await end).toEqual({ kind: "ended", reason: "finished" });
});

test("a daemon that has said all there is says no more at the next attachment", async () => {
  const { socket, end } = await attach();
  socket.cut(1000);
  expect(await end).toEqual({ kind: "ended", reason: "finished" });
});

test("missing output closes the attachment, and the next one begins with the screen", async () => {
  const { socket, end } = await attach();
  socket.says(0x02, offset(300), SIZE, utf8(""));
  socket.says(0x01, offset(400), utf8("x"));
  expect(await end).toEqual({ kind: "lost" });
  socket.says(0x01, offset(401), utf8("late"));
  const { socket: second } = await attach("write", 401);
  expect(second.url).toContain("from=screen");
  expect(second.readyState).toBe(1);
  second.says(0x02, offset(401), SIZE, utf8("screen"));
  second.says(0x01, offset(401), utf8("y"));
  expect([second.readyState, opened]).toEqual([1, 3]);
});

test("another daemon at this address is never sent the token", async () => {
  vi.stubGlobal("fetch", async () => Response.json({ instance: "other" }));
  vi.stubGlobal("indexedDB", undefined);
  expect(await attachment.link(() => undefined, new AbortController().signal)).toEqual({ kind: "ended", reason: "storage" });
  expect(FakeSocket.all).toHaveLength(0);
});

test("another daemon that answers after the cut is not asked who this device is to it", async () => {
  const { socket, end } = await attach();
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (path: string) => {
    asked.push(path);
    return Response.json({ instance: "other" });
  });
  socket.cut();
  expect(await end).toEqual({ kind: "lost" });
  expect(asked).toEqual(["/v1/health"]);
});

test("a socket that took long to open gets the token only where the same daemon answers still", async () => {
  for (const [instance, sent] of [["i", ["tsm_acc_1"]], ["other", []]] as const) {
    const end = attachment.link(() => undefined, new AbortController().signal);
    await settled();
    const socket = FakeSocket.all.at(-1) as FakeSocket;
    forgetDaemon();
    vi.stubGlobal("fetch", async () => Response.json({ instance }));
    socket.open();
    await settled();
    expect(socket.sent).toEqual(sent);
    socket.cut();
    await end;
  }
});
