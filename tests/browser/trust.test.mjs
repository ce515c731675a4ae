import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { launch } from "./support/browser.mjs";
import { scenario } from "./support/scenario.mjs";

scenario("a browser that was told by `certs trust` opens the app without a warning, service worker included", async (s) => {
  // The command line's home is the daemon's folder: its store is one that no test wrote to.
  const home = s.daemon.folder;
  await mkdir(join(home, ".config"), { recursive: true });
  const { stores } = await s.daemon.json("certs", "trust");
  assert.ok(
    stores.some((/** @type {{ store: string, ok: boolean }} */ store) => store.store === "Chromium" && store.ok),
    JSON.stringify(stores),
  );
  const listed = await promisify(execFile)("certutil", ["-L", "-d", `sql:${join(home, ".pki", "nssdb")}`]);
  assert.match(listed.stdout, /transom-\w+\s+C,,/);
  const browser = await launch(home);
  try {
    const context = await browser.newContext();
    for (const host of ["localhost", "127.0.0.1", `${s.daemon.ready.instance}.localhost`]) {
      const page = await context.newPage();
      const response = await page.goto(`https://${host}:${s.daemon.port}/`);
      assert.equal(response?.status(), 200, host);
      assert.equal((await response?.securityDetails())?.issuer, `Transom ${s.daemon.ready.instance} issuer`);
      assert.match(await serviceWorker(page), /evaluat/, `${host}: the script of a service worker is not fetched`);
      await page.close();
    }
  } finally {
    await browser.close();
  }
});

scenario("a browser that was told nothing is warned, and takes no service worker", async (s) => {
  await s.daemon.json("certs", "trust");
  const home = join(s.home, "untold");
  await mkdir(home);
  const browser = await launch(home);
  try {
    const address = `https://localhost:${s.daemon.port}/`;
    await assert.rejects(browser.newPage().then((page) => page.goto(address)), /ERR_CERT_AUTHORITY_INVALID/);
    const page = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage();
    await page.goto(address);
    // Now and then Chromium does not know any more why the connection it refused was refused.
    assert.match(await serviceWorker(page), /An (SSL certificate|unknown) error occurred when fetching the script/);
  } finally {
    await browser.close();
  }
});

/**
 * What becomes of a service worker of the page's own script: where that is fetched it cannot be one, as it needs a document,
 * and where the certificate is not trusted it is not even fetched.
 * @param {import("playwright-core").Page} page
 */
function serviceWorker(page) {
  return page.evaluate(async () => {
    const script = document.querySelector("script[src]")?.getAttribute("src") ?? "";
    // The app's content policy takes such an address from this policy only, which a page that is not paired has not made.
    const policy = /** @type {any} */ (window).trustedTypes.createPolicy("transom-worker", {
      createScriptURL: (/** @type {string} */ url) => url,
    });
    try {
      await navigator.serviceWorker.register(policy.createScriptURL(script), { type: "module", scope: script });
      return "registered: evaluated";
    } catch (error) {
      return String(error);
    }
  });
}
