import { fromBase64Url } from "../api/encoding";

/**
 * The text that a program puts into the clipboard by OSC 52 (`Pc ; Pd`, xterm's `ctlseqs`); null where it asks for what
 * is there, which no program is told, or where it is no text.
 */
export function clipboardText(data: string): string | null {
  const at = data.indexOf(";");
  const encoded = data.slice(at + 1);
  if (at < 0 || encoded === "" || encoded === "?") return null;
  const bytes = fromBase64Url(encoded.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, ""));
  if (!bytes || bytes.length > MOST) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Bytes; more is no text that a person wants to paste. */
const MOST = 1024 * 1024;
