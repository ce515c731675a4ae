import { concat, utf8, type Bytes } from "../api/encoding";

/** Everything that the pairing code is made of (`pairing/src/code.rs` computes the same). */
export interface CodeParts {
  requestId: string;
  /** The uncompressed P-256 point, 65 bytes. */
  publicKey: Uint8Array;
  /** 32 bytes. */
  deviceNonce: Uint8Array;
  /** 32 bytes. */
  serverNonce: Uint8Array;
  /** The pin as its wire string. */
  pin: string;
}

/** The six digits that both screens compute by themselves, as `493-027`. */
export async function pairingCode(parts: CodeParts): Promise<string> {
  const { requestId, publicKey, deviceNonce, serverNonce, pin } = parts;
  let hash = await sha256(concat(utf8(DOMAIN), utf8(requestId), publicKey, deviceNonce, serverNonce, utf8(pin)));
  for (;;) {
    const word = firstUniformWord(hash);
    if (word !== null) return digits(word);
    hash = await sha256(hash);
  }
}

/** What the device commits to before it knows the daemon's nonce: SHA-256 of its key and nonce. */
export function commitment(publicKey: Uint8Array, deviceNonce: Uint8Array): Promise<Bytes> {
  return sha256(concat(publicKey, deviceNonce));
}

/** Words from the bound on would make low codes likelier than high ones. */
function firstUniformWord(hash: Bytes): number | null {
  const view = new DataView(hash.buffer);
  for (let at = 0; at + 4 <= hash.length; at += 4) {
    const word = view.getUint32(at);
    if (word < UNIFORM_BOUND) return word;
  }
  return null;
}

function digits(word: number): string {
  const six = String(word % 1_000_000).padStart(6, "0");
  return `${six.slice(0, 3)}-${six.slice(3)}`;
}

async function sha256(bytes: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

const DOMAIN = "transom-code-v1";
/** The greatest multiple of 10⁶ that fits into 32 bits. */
const UNIFORM_BOUND = 4_294_000_000;
