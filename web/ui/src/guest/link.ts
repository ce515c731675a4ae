/** An invitation to look, as the link's fragment carries it. */
export interface GuestLink {
  id: string;
  secret: string;
}

/** Reads `#<guest id>.<secret>.<pin>`; null where it is not that. A browser cannot check the pin. */
export function parseGuestLink(fragment: string): GuestLink | null {
  const match = /^#?(gst_[0-9a-f]{16})\.([A-Za-z0-9_-]{43})\.sha256\/[A-Za-z0-9_-]{43}$/.exec(fragment.replace(/%2F/i, "/"));
  if (!match) return null;
  const [, id = "", secret = ""] = match;
  return { id, secret };
}
