import { expect, test } from "vitest";
import { refusalOf } from "../worker/register";
import { systemOf, wayToInstall, type Setting } from "./install";

const TAB: Setting = { isStandalone: false, canPrompt: false, system: "other", shell: "kept" };

test.each<[string, Partial<Setting>, string]>([
  ["the installed app", { isStandalone: true, shell: "untrusted" }, "installed"],
  ["a browser that offers it", { canPrompt: true }, "prompt"],
  ["an iPhone that trusts the certificate", { system: "ios" }, "share"],
  ["another browser that keeps the shell", {}, "menu"],
  ["a certificate that is not trusted, whatever the browser offers", { canPrompt: true, shell: "untrusted" }, "untrusted"],
  ["a browser without workers", { shell: "unsupported" }, "none"],
  ["a browser that has not said yet", { shell: null }, "none"],
])("%s", (_, setting, way) => {
  expect(wayToInstall({ ...TAB, ...setting })).toBe(way);
});

test("an iPad that calls itself a Mac is told by its fingers", () => {
  const mac = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Safari/605.1.15";
  expect(systemOf(mac, 5)).toBe("ios");
  expect(systemOf(mac, 0)).toBe("other");
  expect(systemOf("Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X)", 5)).toBe("ios");
});

test("a certificate is called untrusted only where the browser says so", () => {
  expect(refusalOf(new DOMException("", "SecurityError"), true)).toBe("untrusted");
  expect(refusalOf(new TypeError("failed to fetch"), true)).toBeNull();
  expect(refusalOf(new TypeError("no such thing"), false)).toBe("unsupported");
});
