import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { concat, utf8 } from "../api/encoding";
import type { LinkEnd } from "../connection/connection";
import { device } from "../keys/access";
import type { Credential } from "../keys/store";
import { Attachment } from "./attachment";
import { Display } from "./display";

/** The browser's side of a socket whose other side the test plays. */
class FakeSocket {
  static all: FakeSocket[] = [];
  static readonly OPEN = 1;
  readyState = 0;
  sent: (string | Uint8Array)[] = [];
  onopen = (): void => undefined;
  onmessage = (_event: { data: unknown }): void => undefined;
  onclose = (_event: { code: number }): void => undefined;

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

  says(type: number, ...parts: Uint8Array[]): void {
    this.onmessage({ data: concat(Uint8Array.of(type), ...parts).buffer });
  }

  close(code = 1006): void {
    this.readyState = 3;
    this.onclose({ code });
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const offset = (value: number): Uint8Array => Uint8Array.of(0, 0, 0, 0, 0, 0, value >> 8, value & 255);
const hello = (mode: string, at: number): Uint8Array => utf8(JSON.stringify({ mode, offset: at, instance: "i", name: "build" }));
const SIZE = Uint8Array.of(0, 80, 0, 24);

let attachment: Attachment;
let opened: number;
let whoami: () => Response;

beforeEach(() => {
  FakeSocket.all = [];
  opened = 0;
  whoami = () => Response.json({ role: device.value?.role, label: "phone" });
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("location", { host: "localhost:7443" });
  vi.stubGlobal("fetch", async (path: string) => (path === "/v1/health" ? Response.json({ instance: "i" }) : whoami()));
  device.value = { instance: "i", token: "tsm_dev_1", role: "operator", label: "phone", uncommitted: null } as Credential;
  const canvas = { write: (_bytes: Uint8Array, drawn: () => void) => drawn(), reset: () => undefined, resize: () => undefined };
  attachment = new Attachment("ses_1", new Display(canvas, () => undefined));
});

afterEach(() => vi.unstubAllGlobals());

/** Begins a run and answers the first message. */
async function attach(mode = "write", at = 0): Promise<{ socket: FakeSocket; end: Promise<LinkEnd> }> {
  const end = attachment.link(() => (opened += 1), new AbortController().signal);
  await settled();
  const socket = FakeSocket.all.at(-1) as FakeSocket;
  socket.open();
  socket.says(0x00, hello(mode, at));
  return { socket, end };
}

test("the token is the first frame, and in no address", async () => {
  const { socket } = await attach();
  expect(socket.sent).toEqual(["tsm_dev_1"]);
  expect(socket.url).toBe("wss://localhost:7443/v1/sessions/ses_1/attach?mode=write&from=screen");
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
  socket.close();
  expect(await end).toEqual({ kind: "lost" });
  const { socket: second } = await attach("write", 304);
  expect(second.url).toContain("from=304");
  expect(opened).toBeGreaterThan(1);
});

test("input counts from one on each attachment", async () => {
  const { socket, end } = await attach();
  expect([attachment.type("a"), attachment.type("b")]).toEqual([true, true]);
  expect(socket.sent.slice(1)).toEqual([
    concat(Uint8Array.of(0x10), offset(1), utf8("a")),
    concat(Uint8Array.of(0x10), offset(2), utf8("b")),
  ]);
  socket.close();
  await end;
  expect(attachment.type("lost")).toBe(false);
  const { socket: second } = await attach();
  attachment.type("c");
  expect(second.sent[1]).toEqual(concat(Uint8Array.of(0x10), offset(1), utf8("c")));
});

test("a large paste goes in parts that the daemon takes, whole and in order", async () => {
  const { socket } = await attach();
  expect(attachment.type("x".repeat(70_000))).toBe(true);
  const parts = socket.sent.slice(1) as Uint8Array[];
  expect(parts.map((part) => part.length - 9)).toEqual([32_768, 32_768, 4_464]);
  expect(parts.map((part) => part[8])).toEqual([1, 2, 3]);
});

test("a viewer asks to view, and what it types goes nowhere", async () => {
  device.value = { ...(device.value as Credential), role: "viewer" };
  const { socket } = await attach("view");
  expect(socket.url).toContain("mode=view");
  expect(attachment.type("a")).toBe(false);
  expect(socket.sent).toHaveLength(1);
});

test("4401 is believed only when the daemon confirms it", async () => {
  const { socket, end } = await attach();
  whoami = () => Response.json({ code: "revoked" }, { status: 401 });
  socket.close(4401);
  expect(await end).toEqual({ kind: "ended", reason: "revoked" });
  whoami = () => Response.json({ role: "operator", label: "phone" });
  const again = await attach();
  again.socket.close(4401);
  expect(await again.end).toEqual({ kind: "lost" });
});

test("a session that is gone is over", async () => {
  const { socket, end } = await attach();
  socket.close(4404);
  expect(await end).toEqual({ kind: "ended", reason: "gone" });
});

test("after the exit nothing is typed, and a closed attachment is no loss", async () => {
  const { socket, end } = await attach();
  socket.says(0x04, utf8('{"code":7,"signal":null,"duration_ms":1,"peak_memory_bytes":1}'));
  expect(attachment.exit.value?.code).toBe(7);
  expect(attachment.type("a")).toBe(false);
  socket.close(1000);
  expect(await end).toEqual({ kind: "ended", reason: "finished" });
});

test("missing output closes the attachment, and the next one begins with the screen", async () => {
  const { socket, end } = await attach();
  socket.says(0x02, offset(300), SIZE, utf8(""));
  socket.says(0x01, offset(400), utf8("x"));
  expect(await end).toEqual({ kind: "lost" });
  await attach();
  expect(FakeSocket.all.at(-1)?.url).toContain("from=screen");
});

test("another daemon at this address is never sent the token", async () => {
  vi.stubGlobal("fetch", async () => Response.json({ instance: "other" }));
  vi.stubGlobal("indexedDB", undefined);
  expect(await attachment.link(() => undefined, new AbortController().signal)).toEqual({ kind: "lost" });
  expect(FakeSocket.all).toHaveLength(0);
});
