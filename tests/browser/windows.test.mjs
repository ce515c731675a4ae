import assert from "node:assert/strict";
import { PHONE } from "./support/browser.mjs";
import { askToPair, offer } from "./support/pairing.mjs";
import { scenario } from "./support/scenario.mjs";

scenario("an offer's link that is pasted opens it, as in an installed app that no camera leads to", async (s) => {
  const phone = await s.open();
  await phone.goto("/");
  await phone.message("unpaired").waitFor();
  const link = `${s.origin}${await offer(s.daemon)}`;
  await phone.page.getByLabel("Or paste the link").fill(link.slice(0, -4));
  await phone.page.getByRole("button", { name: "Open the offer" }).click();
  await phone.page.getByRole("alert").getByText("Part of it is missing").waitFor();
  await phone.page.getByLabel("Or paste the link").fill(link);
  await phone.page.getByRole("button", { name: "Open the offer" }).click();
  await phone.page.getByRole("button", { name: "Pair this device" }).waitFor();
  assert.equal(phone.page.url(), `${s.origin}/pair`);
});

scenario("the browser of an app does not claim an offer", async (s) => {
  const phone = await s.open({ ...PHONE, userAgent: PHONE.userAgent.replace("K)", "K; wv)"), permissions: ["clipboard-read", "clipboard-write"] });
  const link = await offer(s.daemon);
  await phone.goto(link);
  await phone.message("pair_in_app").waitFor();
  await phone.page.getByRole("button", { name: "Copy the link" }).click();
  await phone.page.getByRole("button", { name: "Copied" }).waitFor();
  assert.equal(await phone.page.evaluate(() => navigator.clipboard.readText()), s.origin + link);
  assert.deepEqual(await s.daemon.api("GET", "/v1/pairing/requests"), []);
  await phone.page.getByRole("button", { name: "Pair here all the same" }).click();
  await phone.page.getByRole("button", { name: "Pair this device" }).waitFor();
});

scenario("a private window is told before an offer is claimed", async (s) => {
  const phone = await s.open();
  await phone.page.addInitScript(() => {
    StorageManager.prototype.getDirectory = () => Promise.reject(new DOMException("", "SecurityError"));
  });
  await phone.goto(await offer(s.daemon));
  await phone.message("pair_private").waitFor();
  assert.deepEqual(await s.daemon.api("GET", "/v1/pairing/requests"), []);
});

scenario("too many tries are said with their time, and the offer is good afterwards", async (s) => {
  const phone = await s.open();
  phone.tolerate(/status of 429/);
  const problem = { type: "about:blank", title: "Too many", status: 429, code: "too_many_requests", detail: "too many", hint: "wait", retry_after: 2 };
  const requests = /\/v1\/pairing\/requests$/;
  await phone.page.route(requests, (route) => route.fulfill({ status: 429, contentType: "application/problem+json", body: JSON.stringify(problem) }));
  const link = await offer(s.daemon);
  await phone.goto(link);
  await phone.page.getByRole("button", { name: "Pair this device" }).click();
  await phone.page.getByRole("button", { name: /Try again in \d s/ }).waitFor();
  await phone.page.unroute(requests);
  await phone.page.getByRole("button", { name: "Try again", exact: true }).click();
  await phone.page.getByRole("button", { name: "Pair this device" }).click();
  await phone.page.getByLabel("Pairing code").waitFor();
});

scenario("a browser that does not trust the certificate is told what works, what does not and the ways out", async (s) => {
  const phone = await s.openUntrusted({ ...PHONE, ignoreHTTPSErrors: true });
  phone.tolerate(/SSL certificate|unknown error occurred when fetching the script/);
  await phone.goto(await offer(s.daemon));
  await phone.page.getByText("Your browser does not trust the certificate").click();
  await phone.page.getByText("transom certs trust").waitFor();
  const code = await askToPair(phone, await offer(s.daemon), "Stranger");
  await s.daemon.json("approve", code, "--role", "viewer");
  await phone.page.waitForURL(`${s.origin}/`);
  await phone.connection("live").waitFor();
  await phone.goto("/device");
  await phone.page.locator('[data-install="untrusted"]').waitFor();
});

scenario("the form waits until it is known what kind of window this is", async (s) => {
  const phone = await s.open(PHONE);
  await phone.page.addInitScript(() => {
    const known = new Promise((resolve) => Object.assign(window, { tellFiles: resolve }));
    StorageManager.prototype.getDirectory = async () => {
      await known;
      throw new DOMException("private", "SecurityError");
    };
  });
  await phone.goto(await offer(s.daemon));
  await phone.message("pair_looking").waitFor();
  assert.equal(await phone.message("pair_form").count(), 0);
  await phone.page.evaluate(() => /** @type {{ tellFiles?: () => void }} */ (window).tellFiles?.());
  await phone.message("pair_private").waitFor();
});
