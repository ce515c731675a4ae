import assert from "node:assert/strict";
import { PHONE } from "./support/browser.mjs";
import { shellAfter } from "./support/daemon.mjs";
import { askToPair, offer } from "./support/pairing.mjs";
import { scenario } from "./support/scenario.mjs";

scenario("a device is told what it is to the daemon, live", async (s) => {
  const phone = await s.paired({ label: "Ada’s phone", role: "viewer" });
  // What a token was good for ends with the role.
  phone.tolerate(/status of 401/);
  await phone.page.getByRole("link", { name: "This device" }).click();
  await phone.page.getByRole("heading", { name: "Ada’s phone" }).waitFor();
  for (const fact of ["look at sessions", "bound to a key that cannot leave this browser", "bound to no node", "it is revoked, or not seen for 90 days"]) {
    await phone.page.getByText(fact, { exact: true }).waitFor();
  }
  await phone.page.getByText(/^\d+ open now$/).waitFor();
  await s.daemon.json("devices", "role", "Ada’s phone", "operator");
  await phone.page.getByText("look, type, start and stop").waitFor();
  await phone.connection("live").waitFor();
});

for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
  scenario(`a device calls itself something else, or keeps its name where it cannot, on a ${colorScheme} phone`, async (s) => {
    const phone = await s.paired({ label: "Chrome on Android", role: "viewer", profile: { ...PHONE, colorScheme } });
    phone.tolerate(/net::ERR_/);
    await phone.goto("/device");
    await phone.page.getByRole("button", { name: "Rename this device" }).tap();
    const dialog = phone.page.getByRole("dialog", { name: "Rename this device" });
    await s.screen(phone, `rename-phone-${colorScheme}`);
    await dialog.getByRole("textbox").fill("   ");
    assert.equal(await dialog.getByRole("button", { name: "Save" }).isDisabled(), true);
    await dialog.getByRole("textbox").fill("Ada’s phone");
    s.tunnel.cut();
    await dialog.getByRole("button", { name: "Save" }).tap();
    await dialog.getByRole("alert").getByText("The new name was not confirmed.").waitFor();
    await s.screen(phone, `rename-failed-phone-${colorScheme}`);
    s.tunnel.mend();
    await phone.connection("live").waitFor();
    await dialog.getByRole("button", { name: "Save" }).tap();
    await phone.page.getByRole("heading", { name: "Ada’s phone" }).waitFor();
    await dialog.waitFor({ state: "detached" });
    await s.screen(phone, `renamed-phone-${colorScheme}`);
    assert.deepEqual(await labels(s), ["Ada’s phone"]);
    await phone.page.getByRole("link", { name: "Sessions" }).tap();
    await phone.page.getByRole("link", { name: "This device: Ada’s phone" }).waitFor();
  });
}

scenario("signing out ends the trust and erases the key, and pairing again begins anew", async (s) => {
  await s.daemon.session("shell", shellAfter(""));
  const phone = await s.paired({ label: "Leaves" });
  phone.tolerate(/net::ERR_|status of 401/);
  await phone.goto("/device");
  await phone.page.getByRole("button", { name: "Sign out" }).click();
  await phone.page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  await phone.connection("live").waitFor();
  await phone.page.getByRole("button", { name: "Sign out" }).click();
  await phone.page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
  await phone.message("signed_out").waitFor();
  assert.deepEqual(await phone.credentials(), []);
  assert.deepEqual(await s.daemon.api("GET", "/v1/devices"), []);
  const code = await askToPair(phone, await offer(s.daemon), "Is back");
  await s.daemon.json("approve", code, "--role", "viewer");
  await phone.row("shell").waitFor();
});

scenario("a device whose daemon does not answer is not signed out, and says so", async (s) => {
  const phone = await s.paired({ label: "Stays" });
  phone.tolerate(/net::ERR_/);
  await phone.goto("/device");
  await phone.connection("live").waitFor();
  s.tunnel.cut();
  await phone.page.getByRole("button", { name: "Sign out" }).click();
  await phone.page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
  await phone.page.getByText("trusts this device still").waitFor();
  assert.equal((await phone.credentials()).length, 1);
  s.tunnel.mend();
  await phone.connection("live").waitFor();
});

scenario("the figures of a connection are one tap away, at the list and at a terminal", async (s) => {
  await s.daemon.session("shell", shellAfter(""));
  const phone = await s.paired();
  await phone.row("shell").waitFor();
  await phone.connection("live").tap();
  const figures = phone.page.getByRole("dialog", { name: "Connection figures" });
  await figures.getByText(/^\d+ ms$/).first().waitFor();
  await phone.page.keyboard.press("Escape");
  await figures.waitFor({ state: "hidden" });
  await phone.row("shell").tap();
  await phone.page.getByText(/Live · \d+ ms/).waitFor();
  await phone.connection("live").tap();
  await figures.getByText("Arrival to paint").waitFor();
  await figures.getByText("0 bytes").waitFor();
});

scenario("a browser that pairs again ends what it was before, unless a person wants that to stay", async (s) => {
  const phone = await s.paired({ label: "Before" });
  phone.tolerate(/status of 421|net::ERR_/);
  await phone.goto(await offer(s.daemon));
  await phone.page.getByLabel("Also end the old “Before” on the computer").waitFor();
  const code = await askToPair(phone, await offer(s.daemon), "After");
  await s.daemon.json("approve", code, "--role", "operator");
  await phone.page.waitForURL(`${s.origin}/`);
  await phone.connection("live").waitFor();
  assert.deepEqual(await labels(s), ["After"]);

  await phone.goto(await offer(s.daemon));
  await phone.page.getByLabel("Also end the old “After” on the computer").uncheck();
  await phone.page.getByRole("button", { name: "Pair this device" }).click();
  const second = (await phone.page.getByLabel("Pairing code").textContent()) ?? "";
  await s.daemon.json("approve", second, "--role", "operator");
  await phone.page.waitForURL(`${s.origin}/`);
  await phone.connection("live").waitFor();
  assert.equal((await labels(s)).length, 2);
});

/** @param {import("./support/scenario.mjs").Scenario} s @returns {Promise<string[]>} */
async function labels(s) {
  const devices = await s.daemon.api("GET", "/v1/devices");
  return devices.map((/** @type {{ label: string }} */ { label }) => label);
}
