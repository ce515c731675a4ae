import assert from "node:assert/strict";

/** @typedef {{ instance: string, token: string, deviceId: string }} Held */

/** A browser window that is, or becomes, a paired device: a page, and everything that it did wrong. */
export class Device {
  /** @type {string[]} */
  #complaints = [];
  /** @type {RegExp[]} */
  #tolerated = [];
  /** @type {{ method: string, url: string }[]} */
  requests = [];

  /**
   * @param {import("playwright-core").Page} page
   * @param {string} origin
   */
  constructor(page, origin) {
    this.page = page;
    this.origin = origin;
    page.on("pageerror", (error) => this.#complaints.push(`uncaught: ${error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") this.#complaints.push(`console: ${message.text()}`);
    });
    page.on("request", (request) => this.#note(request.method(), request.url()));
    page.on("websocket", (socket) => this.#note("GET", socket.url()));
  }

  /** @param {string} path */
  async goto(path) {
    await this.page.goto(this.origin + path);
  }

  /** The screen that says one thing, by its kind. @param {string} kind */
  message(kind) {
    return this.page.locator(`[data-message="${kind}"]`);
  }

  /**
   * Where the connection stands: that of the session, where one is shown beside the list.
   * @param {"live" | "reconnecting" | "offline" | "unreachable" | "ended"} state
   */
  connection(state) {
    return this.page.locator(`.status[data-connection="${state}"]:not(.workspace:has(main .status) .sidebar .status)`);
  }

  /** A row of the list. @param {string} name */
  row(name) {
    return this.page.locator(".session", { has: this.page.getByText(name, { exact: true }) });
  }

  /** The browser itself says on the console when a request fails; a test that makes that happen says so. @param {RegExp} pattern */
  tolerate(pattern) {
    this.#tolerated.push(pattern);
  }

  /** What this browser holds of the daemon. @returns {Promise<Held[]>} */
  credentials() {
    return this.page.evaluate(async () => {
      const names = (await indexedDB.databases()).map(({ name }) => name);
      if (!names.includes("transom")) return [];
      const open = indexedDB.open("transom");
      const database = await new Promise((resolve) => (open.onsuccess = () => resolve(open.result)));
      const all = database.transaction("credentials").objectStore("credentials").getAll();
      const held = /** @type {Held[]} */ (await new Promise((resolve) => (all.onsuccess = () => resolve(all.result))));
      database.close();
      return held.map(({ instance, token, deviceId }) => ({ instance, token, deviceId }));
    });
  }

  /** An access token, as the page itself gets one: by its key, which it alone can use. @returns {Promise<string>} */
  access() {
    return this.page.evaluate(async () => {
      const open = indexedDB.open("transom");
      const database = await new Promise((resolve) => (open.onsuccess = () => resolve(open.result)));
      const all = database.transaction("credentials").objectStore("credentials").getAll();
      const [{ key, token, deviceId }] = await new Promise((resolve) => (all.onsuccess = () => resolve(all.result)));
      database.close();
      const { challenge } = await (await fetch("/v1/auth/challenge")).json();
      const audience = `origin:${location.origin}`;
      const text = new TextEncoder().encode(["transom-proof-v1", challenge, audience, deviceId].join("\n"));
      const raw = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, key.privateKey, text);
      const signature = btoa(String.fromCharCode(...new Uint8Array(raw))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
      const proven = await fetch("/v1/auth/proof", {
        method: "POST",
        headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
        body: JSON.stringify({ challenge, audience, signature }),
      });
      return (await proven.json()).access_token;
    });
  }

  /** Fails where the page complained, or asked anybody but the daemon for anything. */
  assertClean() {
    const complaints = this.#complaints.filter((text) => !this.#tolerated.some((pattern) => pattern.test(text)));
    assert.deepEqual(complaints, []);
  }

  /**
   * @param {string} method
   * @param {string} url
   */
  #note(method, url) {
    this.requests.push({ method, url });
    const { protocol, host } = new URL(url);
    const isOwn = protocol === "data:" || protocol === "blob:" || host === new URL(this.origin).host;
    if (!isOwn) this.#complaints.push(`foreign request: ${url}`);
  }
}
