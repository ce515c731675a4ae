import "fake-indexeddb/auto";
import { expect, test, vi } from "vitest";
import { makeKey, publicPoint, signLines } from "./key";
import { amend, assertKeeps, erase, load, save, StorageUnavailable, type Credential } from "./store";

vi.stubGlobal("structuredClone", <T>(value: T): T => value);

async function credential(instance: string): Promise<Credential> {
  return { instance, deviceId: "dev_1", token: `token of ${instance}`, label: "phone", role: "viewer", key: await makeKey(), uncommitted: null };
}

test("a credential belongs to one daemon", async () => {
  await save(await credential("a"));
  expect((await load("a"))?.token).toBe("token of a");
  expect(await load("b")).toBeNull();
});

test("an erased credential is gone", async () => {
  const held = await credential("c");
  await save(held);
  expect(await erase(held)).toBeNull();
  expect(await load("c")).toBeNull();
});

test("what another window has put in its place is neither erased nor written over", async () => {
  const former = await credential("e");
  const anew = { ...former, deviceId: "dev_2", token: "another token" };
  await save(former);
  await save(anew);
  expect(await erase(former)).toEqual(anew);
  expect(await amend(former, { label: "renamed" })).toEqual(anew);
  expect(await load("e")).toEqual(anew);
});

test("what was erased is not written back by a change, and what is there takes it", async () => {
  const held = await credential("f");
  await save(held);
  expect((await amend(held, { label: "renamed" }))?.label).toBe("renamed");
  await erase(held);
  expect(await amend(held, { label: "again" })).toBeNull();
  expect(await load("f")).toBeNull();
});

test("the trial leaves nothing behind", async () => {
  await assertKeeps(await credential("d"));
  expect(await load("d")).toBeNull();
});

test("a browser without storage says so", async () => {
  vi.stubGlobal("indexedDB", { open: () => { throw new Error("denied"); } });
  await expect(load("a")).rejects.toThrow(StorageUnavailable);
  vi.unstubAllGlobals();
});

test("the private half of a key cannot be taken out, the public half is 65 bytes", async () => {
  const key = await makeKey();
  expect(key.privateKey.extractable).toBe(false);
  await expect(crypto.subtle.exportKey("pkcs8", key.privateKey)).rejects.toThrow();
  const point = await publicPoint(key);
  expect([point.length, point[0]]).toEqual([65, 4]);
});

test("a signature is 64 bytes over the lines joined by newlines", async () => {
  const key = await makeKey();
  const signature = Buffer.from(await signLines(key, ["a", "b"]), "base64url");
  const algorithm = { name: "ECDSA", hash: "SHA-256" };
  expect(signature.length).toBe(64);
  expect(await crypto.subtle.verify(algorithm, key.publicKey, signature, Buffer.from("a\nb"))).toBe(true);
});
