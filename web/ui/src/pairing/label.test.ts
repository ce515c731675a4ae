import { expect, test } from "vitest";
import { cleanLabel, defaultLabel } from "./label";

test.each([
  ["Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36", "Chrome on Android"],
  ["Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1", "Safari on iPhone"],
  ["Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"],
  ["Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0", "Edge on Windows"],
  ["Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36", "Chrome on Mac"],
  ["curl/8", "Browser on this device"],
])("%s", (userAgent, label) => {
  expect(defaultLabel(userAgent)).toBe(label);
});

test("a label loses control, format and bidi characters, and is at most 64 characters", () => {
  expect(cleanLabel("  my\u202e phone\n\t2\u0000 ")).toBe("my phone 2");
  expect([...cleanLabel("📱".repeat(80))]).toHaveLength(64);
  expect(cleanLabel("\u200b")).toBe("");
});
