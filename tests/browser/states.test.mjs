import assert from "node:assert/strict";
import { shellAfter } from "./support/daemon.mjs";
import { askToPair, offer, pairByOffer } from "./support/pairing.mjs";
import { scenario } from "./support/scenario.mjs";
import { Terminal } from "./support/terminal.mjs";

scenario("a page from the back-forward cache, and one that was in the background for long, is asked anew and right", async (s) => {
  const phone = await s.paired();
  phone.tolerate(CUT);
  for (const [name, wakes] of /** @type {const} */ ([["first", restored], ["second", returned]])) {
    const asked = count(phone, "/v1/events");
    await phone.page.evaluate(wakes);
    await phone.page.waitForFunction(() => document.querySelector('.status[data-connection="live"]'));
    await s.daemon.session(name, "read line");
    await phone.row(name).waitFor();
    assert.ok(count(phone, "/v1/events") > asked, `${name}: the stream from before is not trusted`);
  }
});

scenario("a clock that is hours off is neither the list's nor the connection's", async (s) => {
  await s.daemon.session("shell", shellAfter(""));
  const phone = await s.open();
  phone.tolerate(CUT);
  await phone.page.addInitScript(() => {
    const now = Date.now.bind(Date);
    Date.now = () => now() - 5 * 3_600_000;
  });
  await pairByOffer(phone, s.daemon, "operator", "Five hours behind");
  await phone.row("shell").getByText("just now").waitFor();
  s.tunnel.snap();
  await phone.connection("live").waitFor();
  await phone.row("shell").tap();
  const terminal = await Terminal.ready(phone.page);
  await terminal.compose("echo on-$((20 + 22))");
  await terminal.shows("on-42");
});

scenario("a role that changes is the terminal's and the list's at once", async (s) => {
  await s.daemon.session("shell", shellAfter(""));
  const { device: phone, terminal } = await s.watching("shell", { label: "Phone", role: "viewer" });
  phone.tolerate(CUT);
  await phone.page.getByText("View only").waitFor();
  await s.daemon.json("devices", "role", "Phone", "operator");
  await terminal.compose("echo may-$((20 + 22))");
  await terminal.shows("may-42");
  await phone.page.getByRole("link", { name: "Sessions" }).tap();
  await phone.page.getByText("· operator").waitFor();
  await s.daemon.json("devices", "role", "Phone", "viewer");
  await phone.page.getByText("· viewer").waitFor();
  await phone.connection("live").waitFor();
});

scenario("a device whose time is over says so, keeps no key and asks no more", async (s) => {
  const phone = await s.open();
  phone.tolerate(/net::ERR_|status of 401/);
  const code = await askToPair(phone, await offer(s.daemon), "Brief");
  await s.daemon.json("approve", code, "--role", "viewer", "--expires", "15s");
  await phone.message("expired").waitFor();
  assert.deepEqual(await phone.credentials(), []);
  await phone.goto("/");
  await phone.message("unpaired").waitFor();
});

scenario("a list that is acted on after a restart nobody saw is not acted on, and says so", async (s) => {
  const session = await s.daemon.session("unwanted", "read line");
  const { device: phone } = await s.watching("unwanted");
  phone.tolerate(/status of 409|net::ERR_|WebSocket/);
  const { life } = await s.daemon.api("GET", "/v1/whoami");
  let sent = "";
  await phone.page.route(/\/stop$/, (route) => {
    const headers = route.request().headers();
    sent = headers["transom-life"] ?? "";
    return route.continue({ headers: { ...headers, "transom-life": "0123456789abcdef" } });
  });
  await phone.page.getByRole("button", { name: "Actions" }).tap();
  await phone.page.getByRole("button", { name: "Stop program" }).tap();
  await phone.page.getByRole("dialog").getByRole("button", { name: "Stop" }).tap();
  await phone.page.getByText("The daemon was restarted since you looked").waitFor();
  assert.equal(sent, life);
  const [left] = await s.daemon.api("GET", "/v1/sessions");
  assert.deepEqual([left.id, left.state], [session.id, "running"]);
});

scenario("a browser that opens no WebSocket is told what is wrong and the ways out, and the list works", async (s) => {
  await s.daemon.session("shell", shellAfter(""));
  const phone = await s.paired();
  phone.tolerate(CUT);
  await phone.page.evaluate(breakSockets);
  await phone.row("shell").tap();
  await phone.message("no_socket").getByText("transom certs trust").waitFor();
  await phone.page.getByRole("link", { name: "Sessions" }).tap();
  await phone.connection("live").waitFor();
  await phone.page.reload();
  await phone.row("shell").tap();
  await (await Terminal.ready(phone.page)).shows("$");
});

scenario("pages whose tokens ended all at once are all signed in afterwards", async (s) => {
  const phone = await s.paired();
  phone.tolerate(CUT);
  const pages = [];
  for (let at = 0; at < 5; at += 1) {
    const page = await phone.page.context().newPage();
    await page.goto(`${s.origin}/`);
    pages.push(page);
  }
  const all = [phone.page, ...pages];
  for (const page of all) await page.locator('.status[data-connection="live"]').waitFor();
  await s.daemon.kill();
  for (const page of all) await page.locator('.status:not([data-connection="live"])').waitFor();
  await s.restart();
  for (const page of all) await page.locator('.status[data-connection="live"]').waitFor();
  // The events of what is new come to a page that has proven its key, and to no other.
  await s.daemon.session("afterwards", "read line");
  for (const page of all) await page.getByRole("link", { name: "afterwards" }).waitFor();
  assert.equal((await phone.credentials()).length, 1);
});

/** In the page: as the browser says of one that it brings back. */
function restored() {
  window.dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
}

/** In the page: hidden for a minute, by a clock that the test moves. */
function returned() {
  const state = (/** @type {string} */ is) => {
    Object.defineProperty(document, "visibilityState", { value: is, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  };
  const now = Date.now.bind(Date);
  state("hidden");
  Date.now = () => now() + 60_000;
  state("visible");
}

/** In the page: as Safari does where it does not trust a certificate. */
function breakSockets() {
  window.WebSocket = /** @type {any} */ (
    class extends EventTarget {
      static OPEN = 1;
      readyState = 3;
      /** @type {((event: { code: number, reason: string }) => void) | null} */
      onclose = null;
      constructor() {
        super();
        setTimeout(() => this.onclose?.({ code: 1006, reason: "" }));
      }
      close() {}
    }
  );
}

/** @param {import("./support/device.mjs").Device} device @param {string} path */
function count(device, path) {
  return device.requests.filter(({ url }) => new URL(url).pathname === path).length;
}

/** What the browser itself says of streams and sockets that were cut, and of a token of the life before. */
const CUT = /net::ERR_|WebSocket connection|status of 40[14]/;

scenario("a browser whose storage fails says so, and not that the daemon is away", async (s) => {
  const phone = await s.paired();
  await phone.page.addInitScript(() => {
    IDBFactory.prototype.open = () => {
      throw new DOMException("denied", "SecurityError");
    };
  });
  await phone.page.reload();
  await phone.message("storage").waitFor();
});

scenario("a device that may not come this way reads the daemon's own words, and tries again", async (s) => {
  const phone = await s.paired();
  phone.tolerate(/status of 403/);
  const problem = { title: "Forbidden", code: "unknown_node", detail: "nobody says from which node this comes", hint: "come by the tailnet" };
  await phone.page.route(/\/v1\/whoami$/, (route) => route.fulfill({ status: 403, contentType: "application/problem+json", body: JSON.stringify(problem) }));
  await phone.page.reload();
  await phone.message("wrong_node").getByText("Nobody says from which node this comes. Come by the tailnet.").waitFor();
  assert.equal(await phone.page.getByRole("link", { name: "Show the sessions" }).count(), 0);
  await phone.page.unroute(/\/v1\/whoami$/);
  await phone.page.getByRole("button", { name: "Try again" }).tap();
  await phone.connection("live").waitFor();
});

scenario("a question that was asked before a restart is not an answer for the daemon after it", async (s) => {
  const session = await s.daemon.session("unwanted", "read line");
  const { device: phone } = await s.watching("unwanted");
  phone.tolerate(/status of 4\d\d|net::ERR_|WebSocket/);
  await phone.page.getByRole("button", { name: "Actions" }).tap();
  await phone.page.getByRole("button", { name: "Delete session" }).tap();
  const question = phone.page.getByRole("dialog").getByRole("button", { name: "Delete" });
  await question.waitFor();
  s.tunnel.cut();
  await s.daemon.kill();
  await s.restart();
  await phone.connection("live").waitFor();
  await question.tap();
  await phone.page.getByText("The daemon was restarted since you looked").waitFor();
  const [left] = await s.daemon.api("GET", "/v1/sessions");
  assert.equal(left.id, session.id);
});
