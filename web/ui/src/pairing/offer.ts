/** The owner's invitation, as the link's fragment carries it. */
export interface Offer {
  id: string;
  secret: string;
  /** The SPKI pin of the daemon's identity key; it enters the code. */
  pin: string;
}

/** Reads `#<offer id>.<secret>.<pin>`; null where it is not that. */
export function parseOffer(fragment: string): Offer | null {
  const match = /^#?(ofr_[0-9a-f]{16})\.([A-Za-z0-9_-]{43})\.(sha256\/[A-Za-z0-9_-]{43})$/.exec(unescaped(fragment));
  if (!match) return null;
  const [, id = "", secret = "", pin = ""] = match;
  return { id, secret, pin };
}

/** Some scanners and messengers escape the slash of the pin. */
function unescaped(fragment: string): string {
  return fragment.replace(/%2F/i, "/");
}
