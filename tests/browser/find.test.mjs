import assert from "node:assert/strict";
import { DESKTOP, PHONE } from "./support/browser.mjs";
import { shellAfter } from "./support/daemon.mjs";
import { scenario } from "./support/scenario.mjs";

for (const [kind, profile] of Object.entries({ phone: PHONE, "dark phone": { ...PHONE, colorScheme: /** @type {const} */ ("dark") }, desktop: DESKTOP })) {
  scenario(`a text is found in what was printed long before, upwards and down again, on a ${kind}`, async (s) => {
    await s.daemon.session("long", "printf 'a needle here\\r\\n'; seq 1 600; printf 'another needle\\r\\n'; read line");
    const { device, terminal } = await s.watching("long", { profile });
    await terminal.shows("another needle");
    await device.page.getByRole("button", { name: "Actions" }).click();
    await device.page.getByRole("button", { name: "Find" }).click();
    await device.page.getByRole("searchbox", { name: "Find" }).fill("needle");
    await device.page.keyboard.press("Enter");
    await device.page.getByText("1 of 1+").waitFor();
    await device.page.getByRole("button", { name: "Next above" }).click();
    await device.page.getByText("2 of 2", { exact: true }).waitFor();
    await terminal.back.filter({ hasText: "a needle here" }).waitFor();
    await s.picture(device, `find-${kind.replace(" ", "-")}`);
    await device.page.getByRole("button", { name: "Next below" }).click();
    await device.page.getByText("1 of 2", { exact: true }).waitFor();
    await terminal.back.filter({ hasText: "another needle" }).waitFor();
    await device.page.getByRole("searchbox", { name: "Find" }).fill("no such text");
    await device.page.keyboard.press("Enter");
    await device.page.getByText("Not found").waitFor();
    await device.page.getByRole("button", { name: "End of search" }).click();
    await terminal.back.first().waitFor({ state: "detached" });
    assert.equal(await device.page.getByRole("search").count(), 0);
  });
}

scenario("a text on a screen without anything above it is found, and Ctrl+Shift+F begins", async (s) => {
  await s.daemon.session("short", shellAfter("only this needle\\r\\n"));
  const { device, terminal } = await s.watching("short", { profile: DESKTOP });
  await terminal.shows("needle");
  await device.page.getByRole("textbox", { name: "Terminal", exact: true }).focus();
  await device.page.keyboard.press("Control+Shift+F");
  await device.page.keyboard.type("needle");
  await device.page.keyboard.press("Enter");
  await device.page.getByText("1 of 1", { exact: true }).waitFor();
  await device.page.keyboard.press("Escape");
  await terminal.back.first().waitFor({ state: "detached" });
  await terminal.type("echo typed-$((1+1))");
  await terminal.shows("typed-2");
});
