import assert from "node:assert/strict";
import { kept, upgradable } from "./support/front.mjs";
import { scenario } from "./support/scenario.mjs";

scenario("the worker keeps the shell and nothing else, whatever the app asked for", async (s) => {
  await s.daemon.session("secret-name", "echo secret-output; read line");
  await upgradable(s, async (front, device) => {
    await device.row("secret-name").waitFor();
    await kept(device.page, front.build);
    await device.page.reload();
    await device.row("secret-name").waitFor();
    await device.goto("/device");
    await device.page.getByText("look, type, start and stop").waitFor();
    const paths = await device.page.evaluate(async () => {
      const all = [];
      for (const name of await caches.keys()) for (const { url } of await (await caches.open(name)).keys()) all.push(new URL(url).pathname);
      return all;
    });
    assert.deepEqual(paths.sort(), front.paths.sort());
  });
});

scenario("a page makes one script policy, that of the worker, and no other", async (s) => {
  const device = await s.paired();
  device.tolerate(/TrustedTypePolicy|Content Security Policy/i);
  await device.goto("/device");
  await device.page.getByRole("heading", { name: "On this device" }).waitFor();
  const registered = await device.page.evaluate(async () => {
    const { active, installing, waiting } = await navigator.serviceWorker.ready;
    return new URL((active ?? installing ?? waiting)?.scriptURL ?? "").pathname;
  });
  assert.equal(registered, "/sw.js");
  const made = await device.page.evaluate(() =>
    ["transom-worker", "other", "default"].map((name) => {
      try {
        return /** @type {any} */ (window).trustedTypes.createPolicy(name, {}).name;
      } catch (error) {
        return /** @type {Error} */ (error).name;
      }
    }),
  );
  assert.deepEqual(made, ["TypeError", "TypeError", "TypeError"]);
});

scenario("the manifest names icons that are there, of the size that it says", async (s) => {
  const device = await s.open();
  await device.goto("/");
  await device.message("unpaired").waitFor();
  const icons = await device.page.evaluate(async () => {
    const { href } = /** @type {HTMLLinkElement} */ (document.querySelector('link[rel="manifest"]'));
    const answer = await fetch(href);
    const { icons, display, start_url } = await answer.json();
    const measured = [];
    for (const { src, sizes, purpose } of icons) {
      const picture = new Image();
      picture.src = src;
      await picture.decode();
      measured.push({ sizes, is: `${picture.naturalWidth}x${picture.naturalHeight}`, purpose });
    }
    return { kind: answer.headers.get("content-type"), display, start_url, measured };
  });
  assert.deepEqual([icons.kind, icons.display, icons.start_url], ["application/manifest+json", "standalone", "/"]);
  assert.deepEqual(icons.measured.map(({ purpose }) => purpose), ["any", "any", "maskable", "maskable"]);
  for (const { sizes, is } of icons.measured) assert.equal(is, sizes);
  const devtools = await device.page.context().newCDPSession(device.page);
  const { installabilityErrors } = await devtools.send("Page.getInstallabilityErrors");
  // A window without a profile on disk installs nothing; all else is right.
  assert.deepEqual(installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== "in-incognito"), []);
});
