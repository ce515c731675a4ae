import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { brokenRules } from "./axe.mjs";
import { Browsing, launch, PHONE } from "./browser.mjs";
import { Daemon } from "./daemon.mjs";
import { Device } from "./device.mjs";
import { pairByOffer } from "./pairing.mjs";
import { Terminal } from "./terminal.mjs";
import { trust } from "./trust.mjs";
import { Tunnel } from "./tunnel.mjs";

/** @typedef {import("playwright-core").BrowserContextOptions} Profile */

/**
 * Everything that one test has: a daemon and a tunnel to it that nobody else uses, and windows with a storage of their own in
 * a browser that the file's other tests have, too.
 */
export class Scenario {
  /** @type {Device[]} */
  #devices = [];

  /**
   * @param {string} home
   * @param {Daemon} daemon
   * @param {Tunnel} tunnel
   * @param {import("playwright-core").Browser} browser
   */
  constructor(home, daemon, tunnel, browser) {
    this.home = home;
    this.daemon = daemon;
    this.tunnel = tunnel;
    this.browser = browser;
  }

  /**
   * @param {string} [config] the daemon's configuration, in TOML
   * @param {Browsing} [shared] a browser that somebody else ends; without it, there is one of its own
   */
  static async start(config, shared) {
    const own = shared ? null : await Browsing.start();
    const { home, browser } = shared ?? /** @type {Browsing} */ (own);
    // A short path: a Unix socket's has at most 107 bytes.
    const folder = await mkdtemp(join(tmpdir(), "tb-"));
    const daemon = new Daemon(join(folder, "t"));
    await mkdir(daemon.folder, { mode: 0o700 });
    if (config !== undefined) await writeFile(join(daemon.folder, "config.toml"), config, { mode: 0o600 });
    await daemon.start();
    const tunnel = new Tunnel(() => daemon.port);
    await tunnel.open();
    await trust(home, daemon.port);
    const scenario = new Scenario(home, daemon, tunnel, browser);
    scenario.#folder = folder;
    scenario.#own = own;
    return scenario;
  }

  #folder = "";
  /** @type {Browsing | null} */
  #own = null;
  /** @type {import("playwright-core").BrowserContext[]} */
  #contexts = [];
  /** @type {import("playwright-core").Browser[]} */
  #others = [];
  /** Rules of accessibility that screens broke. @type {unknown[]} */
  #broken = [];

  /** The address at which browsers reach the daemon. */
  get origin() {
    return `https://localhost:${this.tunnel.port}`;
  }

  /** A browser window with storage of its own. @param {Profile} [profile] */
  async open(profile = PHONE) {
    const context = await this.browser.newContext(profile);
    this.#contexts.push(context);
    const device = new Device(await context.newPage(), this.origin);
    this.#devices.push(device);
    return device;
  }

  /**
   * A window of another browser, whose store of certificates is empty.
   * @param {Profile} profile
   * @param {string[]} [flags]
   */
  async openUntrusted(profile, flags) {
    const browser = await launch(await mkdtemp(join(this.#folder, "home-")), flags);
    this.#others.push(browser);
    const context = await browser.newContext(profile);
    const device = new Device(await context.newPage(), this.origin);
    this.#devices.push(device);
    return device;
  }

  /**
   * A browser window that the owner has paired, at its list of sessions.
   * @param {{ role?: "viewer" | "operator", label?: string, profile?: Profile }} [wish]
   */
  async paired({ role = "operator", label = "Test device", profile = PHONE } = {}) {
    const device = await this.open(profile);
    await pairByOffer(device, this.daemon, role, label);
    return device;
  }

  /**
   * A paired browser window that shows a session.
   * @param {string} session
   * @param {{ role?: "viewer" | "operator", label?: string, profile?: Profile }} [wish]
   */
  async watching(session, wish = {}) {
    const device = await this.paired(wish);
    await device.row(session).click();
    return { device, terminal: await Terminal.ready(device.page) };
  }

  /** Starts the daemon again in its folder; the tunnel leads to it once the browser trusts its new certificate. */
  async restart() {
    this.tunnel.cut();
    await this.daemon.start();
    await trust(this.home, this.daemon.port);
    this.tunnel.mend();
  }

  /** Keeps a picture of a page among the test's output. @param {Device} device @param {string} name */
  async picture(device, name) {
    await device.page.screenshot({ path: join(OUTPUT, `${name}.png`), animations: "disabled" });
  }

  /** Keeps a picture of a screen, and checks that everybody can use it. @param {Device} device @param {string} name */
  async screen(device, name) {
    await this.picture(device, name);
    for (const rule of await brokenRules(device)) this.#broken.push({ screen: name, ...rule });
  }

  assertClean() {
    assert.deepEqual(this.#broken, []);
    for (const device of this.#devices) device.assertClean();
  }

  /** Keeps what the pages show, to see why a test failed. @param {string} name */
  async keepPictures(name) {
    const file = name.replaceAll(/[^a-z0-9]+/gi, "-");
    for (const [at, device] of this.#devices.entries()) await this.picture(device, `failed-${file}-${at + 1}`);
  }

  async end() {
    for (const opened of [...this.#contexts, ...this.#others]) await opened.close();
    await this.#own?.end();
    this.tunnel.close();
    await this.daemon.stop();
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/**
 * A test with a scenario of its own. It fails, too, where a page logged an error, broke its content policy, or asked a
 * foreign host for something.
 * @param {string} name
 * @param {(scenario: Scenario) => Promise<void>} act
 * @param {{ todo?: string, config?: string }} [options]
 */
export function scenario(name, act, { todo, config } = {}) {
  if (shared === null) after(async () => (await shared)?.end());
  shared ??= Browsing.start();
  const browsing = shared;
  test(name, todo === undefined ? {} : { todo }, async () => {
    const scenario = await Scenario.start(config, await browsing);
    try {
      await act(scenario);
      scenario.assertClean();
    } catch (error) {
      await scenario.keepPictures(name).catch(() => undefined);
      throw error;
    } finally {
      await scenario.end();
    }
  });
}

/** The browser of all tests of the file. @type {Promise<Browsing> | null} */
let shared = null;

const OUTPUT = fileURLToPath(new URL("../output", import.meta.url));
