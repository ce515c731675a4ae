import { expect, test } from "vitest";
import { commitment, pairingCode } from "./code";
import { toBase64Url } from "../api/encoding";

const publicKey = Uint8Array.from({ length: 65 }, (_, at) => (at === 0 ? 4 : at));
const deviceNonce = Uint8Array.from({ length: 32 }, (_, at) => 100 + at);
const serverNonce = Uint8Array.from({ length: 32 }, (_, at) => 200 + at);
const pin = "sha256/47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU";

/** Computed by `pairing::PairingCode` from the same parts. */
test.each([
  ["req_0123456789abcdef", "746-349"],
  ["req_00000000000001a4", "821-585"],
  ["req_ffffffffffffffff", "517-159"],
])("the code of %s is the one that the daemon computes", async (requestId, code) => {
  expect(await pairingCode({ requestId, publicKey, deviceNonce, serverNonce, pin })).toBe(code);
});

test("every part changes the code", async () => {
  const parts = { requestId: "req_0123456789abcdef", publicKey, deviceNonce, serverNonce, pin };
  const codes = await Promise.all(
    [parts, { ...parts, deviceNonce: serverNonce }, { ...parts, serverNonce: deviceNonce }, { ...parts, pin: `${pin.slice(0, -1)}V` }].map(
      pairingCode,
    ),
  );
  expect(new Set(codes).size).toBe(4);
});

test("the commitment is SHA-256 of key and nonce", async () => {
  const { createHash } = await import("node:crypto");
  const expected = createHash("sha256").update(publicKey).update(deviceNonce).digest("base64url");
  expect(toBase64Url(await commitment(publicKey, deviceNonce))).toBe(expected);
});
