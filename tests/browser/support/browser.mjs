import { accessSync, constants } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";

/** A phone: touch, and a small screen of high density. */
export const PHONE = {
  viewport: { width: 390, height: 844 },
  deviceScaleFactor: 2,
  hasTouch: true,
  isMobile: true,
  userAgent:
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Mobile Safari/537.36",
};

/** A laptop with a mouse and a keyboard. */
export const DESKTOP = { viewport: { width: 1280, height: 800 } };

/**
 * Starts the system's Chromium with a profile of its own.
 * @param {string} home the browser's home, where its store of trusted certificates is
 * @param {string[]} [flags] further ones
 */
export function launch(home, flags = []) {
  return chromium.launch({
    executablePath: executable(),
    env: { PATH: process.env["PATH"] ?? "", HOME: home, LANG: "C.UTF-8" },
    args: [
      ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...flags,
    ],
  });
}

/** A browser, and the home of its own where its store of trusted certificates is. */
export class Browsing {
  /**
   * @param {string} home
   * @param {import("playwright-core").Browser} browser
   */
  constructor(home, browser) {
    this.home = home;
    this.browser = browser;
  }

  static async start() {
    const home = await mkdtemp(join(tmpdir(), "tb-home-"));
    return new Browsing(home, await launch(home));
  }

  async end() {
    await this.browser.close();
    await rm(this.home, { recursive: true, force: true, maxRetries: 3 });
  }
}

function executable() {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
    for (const folder of folders) {
      try {
        accessSync(join(folder, name), constants.X_OK);
        return join(folder, name);
      } catch {
        // Not there: the next folder may have it.
      }
    }
  }
  throw new Error("no chromium, chromium-browser or google-chrome on the PATH: install your system's Chromium");
}
