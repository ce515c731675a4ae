import assert from "node:assert/strict";
import { PHONE } from "./support/browser.mjs";
import { scenario } from "./support/scenario.mjs";

/** Shows every byte that it gets, one screen line for all. */
const BYTES = "stty raw -echo; printf 'ready:'; exec cat -vt";

for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
  scenario(`the keys of the bar are those that a person chose, after another load too, on a ${colorScheme} phone`, async (s) => {
    await s.daemon.session("bytes", BYTES);
    const { device, terminal } = await s.watching("bytes", { profile: { ...PHONE, viewport: { width: 360, height: 640 }, colorScheme } });
    await terminal.shows("ready:");
    await device.page.getByRole("button", { name: "Actions" }).tap();
    await s.picture(device, `actions-phone-${colorScheme}`);
    await device.page.getByRole("button", { name: "Choose keys" }).tap();
    const shown = device.page.getByRole("group", { name: "Keys in the bar" });
    const others = device.page.getByRole("group", { name: "Other keys" });
    await shown.getByRole("button", { name: "Alt" }).tap();
    for (const name of ["Shift Tab", "Ctrl C", "|", "F5"]) await others.getByRole("button", { name, exact: true }).tap();
    await s.picture(device, `choose-keys-phone-${colorScheme}`);
    await device.page.getByRole("button", { name: "Done" }).tap();
    await device.page.reload();
    await terminal.shows("ready:");
    const bar = device.page.getByRole("toolbar", { name: "Keys" });
    assert.equal(await bar.getByRole("button").count(), 11);
    for (const name of ["Shift Tab", "Ctrl C", "|", "F5", "Up"]) await bar.getByRole("button", { name, exact: true }).tap();
    await terminal.shows("ready:^[[Z^C|^[[15~^[[A");
    await s.picture(device, `keys-phone-${colorScheme}`);
  });
}

scenario("what is in the clipboard is pasted by the menu", async (s) => {
  await s.daemon.session("bytes", BYTES);
  const { device, terminal } = await s.watching("bytes");
  await terminal.shows("ready:");
  await device.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await device.page.evaluate(() => navigator.clipboard.writeText("two\nlines"));
  await device.page.getByRole("button", { name: "Actions" }).tap();
  await device.page.getByRole("button", { name: "Paste" }).tap();
  await terminal.shows("ready:two^Mlines");
});
