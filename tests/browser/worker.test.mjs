import assert from "node:assert/strict";
import { buildOf, kept, upgradable } from "./support/front.mjs";
import { scenario } from "./support/scenario.mjs";

scenario("an upgrade of the daemon brings page and worker of one build, and what is open goes on", async (s) => {
  await upgradable(s, async (front, device) => {
    await kept(device.page, front.build);
    const former = front.script;
    const open = await device.page.context().newPage();
    await open.goto(`${front.origin}/`);
    await open.locator('.status[data-connection="live"]').waitFor();

    front.upgrade();
    await device.page.getByText("The daemon was upgraded").waitFor();
    assert.equal(await buildOf(device.page), front.build, "nothing loads the page again under a person's fingers");
    await kept(device.page, front.served);
    assert.equal(await open.evaluate((path) => fetch(path).then(({ status }) => status), former), 200, "an open page of the former build finds its files");

    await device.page.getByRole("button", { name: "Reload" }).click();
    await device.connection("live").waitFor();
    assert.equal(await buildOf(device.page), front.served);
    assert.equal(await device.page.locator('[data-notice="outdated"]').count(), 0);
    await open.close();
  });
});

scenario("without a network the app opens, says so, and is live again by itself", async (s) => {
  await upgradable(s, async (front, device) => {
    await kept(device.page, front.build);
    front.cut();
    await device.page.reload();
    await device.page.getByText("The daemon does not answer").waitFor();
    assert.equal(await buildOf(device.page), front.build);
    front.mend();
    await device.connection("live").waitFor();
  });
});

scenario("an upgrade while the app was closed is the page that opens", async (s) => {
  await upgradable(s, async (front, device) => {
    await kept(device.page, front.build);
    await device.page.goto("about:blank");
    front.upgrade();
    await device.goto("/");
    await device.connection("live").waitFor();
    assert.equal(await buildOf(device.page), front.served);
  });
});
