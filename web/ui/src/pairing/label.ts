/** A first name for this device, from what the browser says of itself: "Chrome on Android". */
export function defaultLabel(userAgent: string): string {
  return `${browserOf(userAgent)} on ${systemOf(userAgent)}`;
}

/** A label as the daemon accepts it: at most 64 characters, none of them control, format or bidi characters. */
export function cleanLabel(text: string): string {
  const visible = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, " ").replace(/\s+/g, " ").trim();
  return [...visible].slice(0, LABEL_LENGTH).join("").trim();
}

/** The most characters of a label. */
export const LABEL_LENGTH = 64;

function browserOf(userAgent: string): string {
  return BROWSERS.find(([pattern]) => pattern.test(userAgent))?.[1] ?? "Browser";
}

function systemOf(userAgent: string): string {
  return SYSTEMS.find(([pattern]) => pattern.test(userAgent))?.[1] ?? "this device";
}

/** Chromium's descendants name Chrome too, and Chrome names Safari: the order matters. */
const BROWSERS: [RegExp, string][] = [
  [/Edg(e|A|iOS)?\//, "Edge"],
  [/OPR\//, "Opera"],
  [/SamsungBrowser\//, "Samsung Internet"],
  [/(Firefox|FxiOS)\//, "Firefox"],
  [/(Chrome|CriOS)\//, "Chrome"],
  [/Safari\//, "Safari"],
];

const SYSTEMS: [RegExp, string][] = [
  [/iPhone/, "iPhone"],
  [/iPad/, "iPad"],
  [/Android/, "Android"],
  [/CrOS/, "ChromeOS"],
  [/Windows/, "Windows"],
  [/Mac OS X/, "Mac"],
  [/Linux/, "Linux"],
];
