/** Bytes as base64url without padding (RFC 4648 section 5), as the wire has them. */
export function toBase64Url(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Bytes from base64url without padding; null where the text is not that. */
export function fromBase64Url(text: string): Bytes | null {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return null;
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

/** UTF-8 of a text. */
export function utf8(text: string): Bytes {
  return new TextEncoder().encode(text) as Bytes;
}

/** All parts in a row. */
export function concat(...parts: Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Bytes that WebCrypto and WebSocket accept: never backed by shared memory. */
export type Bytes = Uint8Array<ArrayBuffer>;
