import assert from "node:assert/strict";
import { DESKTOP } from "./support/browser.mjs";
import { shellAfter } from "./support/daemon.mjs";
import { partOfLink } from "./support/pairing.mjs";
import { scenario } from "./support/scenario.mjs";
import { Terminal } from "./support/terminal.mjs";

/** What a page says of a device that came. @param {import("./support/device.mjs").Device} device */
function notice(device) {
  return device.page.locator("[data-notice=paired]");
}

scenario("every device at its list is told of one that is paired, until a person has seen it", async (s) => {
  const phone = await s.paired({ label: "Phone" });
  const viewer = await s.paired({ label: "Tablet", role: "viewer", profile: DESKTOP });
  await notice(phone).getByText("Tablet").waitFor();
  await notice(phone).getByRole("button", { name: "Dismiss" }).click();
  await notice(phone).waitFor({ state: "detached" });
  assert.equal(await notice(viewer).count(), 0, "nobody is told of itself");

  const laptop = await s.paired({ label: "Laptop", profile: DESKTOP });
  for (const device of [phone, viewer]) await notice(device).getByText("Laptop").waitFor();
  assert.equal(await notice(laptop).count(), 0, "nobody is told of itself");
  await s.picture(phone, "newcomer-phone");
});

scenario("a device that is added by hand is announced too, and a name is shown as the text that it is", async (s) => {
  const phone = await s.paired({ label: "Phone" });
  await s.daemon.json("devices", "add", "<b>ci</b>");
  await notice(phone).getByText("<b>ci</b>").waitFor();
  assert.equal(await notice(phone).locator("b").count(), 0);
});

scenario("a guest is told of no device", async (s) => {
  await s.daemon.session("shared", shellAfter(""));
  const [{ url }] = await s.daemon.json("invite", "shared", "--for", "1h");
  const guest = await s.open(DESKTOP);
  await guest.goto(partOfLink(url));
  const terminal = await Terminal.ready(guest.page);
  const phone = await s.paired({ label: "Phone" });
  await s.daemon.json("devices", "add", "ci");
  await notice(phone).getByText("ci").waitFor();
  await s.daemon.json("send", "shared", "echo later-$((1+1))", "--enter");
  await terminal.shows("later-2");
  assert.equal(await notice(guest).count(), 0);
});
