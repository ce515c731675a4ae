import { toBase64Url, utf8, type Bytes } from "../api/encoding";

/** Makes a device key: ECDSA P-256, its private half not extractable. */
export function makeKey(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign", "verify"]);
}

/** The public half as the uncompressed point, 65 bytes. */
export async function publicPoint(key: CryptoKeyPair): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.exportKey("raw", key.publicKey));
}

/** Signs lines joined by newlines: ECDSA with SHA-256, r ‖ s, as base64url. */
export async function signLines(key: CryptoKeyPair, lines: string[]): Promise<string> {
  const algorithm = { name: "ECDSA", hash: "SHA-256" };
  return toBase64Url(new Uint8Array(await crypto.subtle.sign(algorithm, key.privateKey, utf8(lines.join("\n")))));
}
