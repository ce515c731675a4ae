import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, request } from "node:https";
import { join } from "node:path";
import { promisify } from "node:util";
import { Device } from "./device.mjs";
import { pairByOffer } from "./pairing.mjs";

/** @typedef {{ status: number, headers: import("node:http").OutgoingHttpHeaders, body: Buffer }} Kept */

/**
 * Stands before a daemon as its upgrade would: the API is the daemon's, and of the app there is another build, whose script and
 * page are of other names and of no other content.
 */
export class Front {
  /** @type {import("node:https").Server} */
  #server;
  /** @type {Map<string, Kept>} */
  #files = new Map();
  #isUpgraded = false;
  #isCut = false;
  /** The daemon's build, by its name. */
  build = "";

  /**
   * @param {import("node:https").Server} server
   * @param {import("./daemon.mjs").Daemon} daemon
   */
  constructor(server, daemon) {
    this.#server = server;
    this.daemon = daemon;
  }

  /**
   * @param {import("./daemon.mjs").Daemon} daemon
   * @param {string} home the browser's, which trusts the certificate that is made for this
   */
  static async open(daemon, home) {
    const database = ["-d", `sql:${join(home, ".pki", "nssdb")}`];
    const noise = join(daemon.folder, "config.toml.noise");
    const file = join(home, "front.p12");
    await promisify(execFile)("sh", ["-c", `head -c 64 /dev/urandom > "${noise}"`]);
    // Other tests of the file have made theirs in the same store.
    const name = ["-n", `front-${daemon.port}`];
    await certutil(["-S", "-x", ...name, "-s", "CN=localhost", "-8", "localhost", "-t", "P,,", "-k", "ec", "-q", "nistp256", "-m", String(daemon.port), "-z", noise, ...database]);
    await promisify(execFile)("pk12util", ["-o", file, ...name, "-W", "front", "-K", "", ...database]);
    const server = createServer({ pfx: await readFile(file), passphrase: "front" });
    const front = new Front(server, daemon);
    await front.#take("/");
    await front.#take("/sw.js");
    const listed = /\["\/assets.*?\]|\[(`|"|')\/assets[^\]]*\]/.exec(front.#text("/sw.js"))?.[0] ?? "";
    for (const [path] of listed.matchAll(/\/assets\/[\w.-]+/g)) await front.#take(path);
    front.build = /name="transom-build" content="([0-9a-f]{16})"/.exec(front.#text("/"))?.[1] ?? "";
    server.on("request", (asked, answer) => front.#answer(asked, answer));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return front;
  }

  get origin() {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("a TCP listener has a port");
    return `https://localhost:${address.port}`;
  }

  /** The build that it serves now. */
  get served() {
    return this.#isUpgraded ? this.#after(this.build) : this.build;
  }

  /** What the daemon's entry script is called in the build that is served now. */
  get script() {
    const script = /src="(\/assets\/[\w.-]+\.js)"/.exec(this.#text("/"))?.[1] ?? "";
    return this.#isUpgraded ? this.#after(script) : script;
  }

  /** The paths of the shell in the daemon's own build. */
  get paths() {
    return [...this.#files.keys()].filter((path) => path !== "/sw.js");
  }

  /** Serves another build from now on, and not the former one; open connections are cut, as by the daemon's end. */
  upgrade() {
    this.#isUpgraded = true;
    this.#server.closeAllConnections();
  }

  cut() {
    this.#isCut = true;
    this.#server.closeAllConnections();
  }

  mend() {
    this.#isCut = false;
  }

  close() {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /**
   * @param {import("node:http").IncomingMessage} asked
   * @param {import("node:http").ServerResponse} answer
   */
  #answer(asked, answer) {
    const path = new URL(asked.url ?? "/", "https://localhost").pathname;
    if (this.#isCut) return void answer.destroy();
    if (path.startsWith("/v1/")) return this.#pass(asked, answer);
    const isScreen = !path.includes(".");
    const kept = this.#edition(isScreen ? "/" : path);
    if (!kept) return void answer.writeHead(404).end();
    answer.writeHead(kept.status, kept.headers).end(kept.body);
  }

  /** The file as it is in the build that is served. @param {string} path @returns {Kept | null} */
  #edition(path) {
    if (!this.#isUpgraded) return this.#files.get(path) ?? null;
    for (const [name, file] of this.#files) {
      const renamed = name.startsWith("/assets/") ? this.#after(name) : name;
      if (renamed !== path) continue;
      return { ...file, body: Buffer.from(this.#renamed(file.body.toString("latin1")), "latin1") };
    }
    return null;
  }

  /** @param {string} text */
  #renamed(text) {
    const names = [this.build, ...[...this.#files.keys()].filter((path) => path.startsWith("/assets/")).map((path) => path.slice("/assets/".length))];
    return names.reduce((before, name) => before.replaceAll(name, this.#after(name)), text);
  }

  /** A name in the other build: as long, and another. @param {string} name */
  #after(name) {
    return name.replace(/([0-9a-f]{16}$|-[\w-]{8}(?=\.))/, (part) => part.replace(/\w(?=\W*$)/, (last) => (last === "0" ? "1" : "0")));
  }

  /** @param {string} path */
  #text(path) {
    return this.#files.get(path)?.body.toString("utf8") ?? "";
  }

  /** @param {string} path */
  async #take(path) {
    const asking = request({ host: "127.0.0.1", port: this.daemon.port, path, rejectUnauthorized: false, headers: { host: `localhost:${this.daemon.port}` } });
    asking.end();
    const [answer] = await once(asking, "response");
    const pieces = [];
    for await (const piece of answer) pieces.push(piece);
    const { "content-length": _, "content-security-policy": policy, ...headers } = answer.headers;
    this.#files.set(path, { status: answer.statusCode, headers: { ...headers, "content-security-policy": policy }, body: Buffer.concat(pieces) });
  }

  /**
   * @param {import("node:http").IncomingMessage} asked
   * @param {import("node:http").ServerResponse} answer
   */
  #pass(asked, answer) {
    const { method, url, headers } = asked;
    const far = request({ host: "127.0.0.1", port: this.daemon.port, method, path: url, headers, rejectUnauthorized: false });
    asked.pipe(far);
    answer.on("close", () => far.destroy());
    far.on("error", () => answer.destroy());
    far.on("response", async (from) => {
      const { "content-length": _, ...rest } = from.headers;
      answer.writeHead(from.statusCode ?? 502, rest);
      from.on("error", () => answer.destroy());
      // Only whoami names the build.
      from.on("data", (piece) => answer.write(url === "/v1/whoami" ? piece.toString("utf8").replace(this.build, this.served) : piece));
      from.on("end", () => answer.end());
    });
  }
}

/**
 * Runs with a paired window at a front that can be upgraded.
 * @param {import("./scenario.mjs").Scenario} s
 * @param {(front: Front, device: Device) => Promise<void>} act
 */
export async function upgradable(s, act) {
  const front = await Front.open(s.daemon, s.home);
  try {
    const context = await s.browser.newContext();
    const device = new Device(await context.newPage(), front.origin);
    device.tolerate(/net::ERR_|status of 40[14]/);
    await pairByOffer(device, s.daemon, "operator", "At the front");
    await act(front, device);
    device.assertClean();
    await context.close();
  } finally {
    front.close();
  }
}

/**
 * Resolves once a worker is in charge that has kept all of a build.
 * @param {import("playwright-core").Page} page
 * @param {string} build
 */
export async function kept(page, build) {
  await page.waitForFunction(
    async (name) => (await caches.has(name)) && (await (await caches.open(name)).match("/")) !== undefined && navigator.serviceWorker.controller?.state === "activated",
    `transom-shell-${build}`,
  );
}

/** @param {import("playwright-core").Page} page */
export function buildOf(page) {
  return page.evaluate(() => document.querySelector('meta[name="transom-build"]')?.getAttribute("content"));
}

const certutil = (/** @type {string[]} */ words) => promisify(execFile)("certutil", words);
