import assert from "node:assert/strict";
import { Attachment } from "./support/attachment.mjs";
import { PHONE } from "./support/browser.mjs";
import { shellAfter } from "./support/daemon.mjs";
import { scenario } from "./support/scenario.mjs";
import { Terminal } from "./support/terminal.mjs";

scenario("a phone that looks and types never changes the size that a desktop has", async (s) => {
  const session = await s.daemon.session("wide", shellAfter(""));
  const desktop = await Attachment.ofOwner(s.daemon, session.id, "mode=write&from=screen");
  desktop.offerSize(160, 40);
  await desktop.until(() => desktop.size?.columns === 160);

  const { device: phone, terminal } = await s.watching("wide");
  await terminal.compose("tput cols; tput lines");
  await terminal.shows(/^160$/);
  await terminal.shows(/^40$/);
  assert.equal(await terminal.rows.count(), 40);
  await phone.page.setViewportSize({ width: 844, height: 390 });
  await phone.page.getByRole("button", { name: /Readable size|Fit all columns/ }).tap();
  await terminal.compose("echo turned; tput cols");
  await terminal.shows("turned");
  await phone.page.close();

  desktop.type(1, "echo still-$(tput cols)x$(tput lines)\r");
  await desktop.until(() => /still-\d/.test(desktop.output));
  assert.match(desktop.output, /still-160x40/);
  assert.deepEqual(desktop.size, { columns: 160, rows: 40 });
  assert.deepEqual((await s.daemon.api("GET", `/v1/sessions/${session.id}`)).size, { columns: 160, rows: 40 });
});

scenario("a phone follows the size that a desktop chooses", async (s) => {
  const session = await s.daemon.session("changing", shellAfter("top-line\\r\\n"));
  const desktop = await Attachment.ofOwner(s.daemon, session.id, "mode=write&from=screen");
  desktop.offerSize(120, 30);
  await desktop.until(() => desktop.size?.columns === 120);
  const { terminal } = await s.watching("changing", { role: "viewer" });
  desktop.offerSize(100, 20);
  await terminal.rows.nth(20).waitFor({ state: "detached" });
  assert.equal(await terminal.rows.count(), 20);
  await terminal.shows("top-line");
});

scenario("a phone that fits the session to its screen is told who takes that away, and may take it back", async (s) => {
  const session = await s.daemon.session("fitted", shellAfter(""));
  const { device: phone, terminal } = await s.watching("fitted", { label: "Phone" });
  await fit(phone);
  await terminal.rows.nth(24).waitFor();
  await terminal.compose("echo width-$(tput cols)");
  await terminal.shows(/^width-4\d$/);
  const fitted = (await s.daemon.api("GET", `/v1/sessions/${session.id}`)).size;

  // What an on-screen keyboard leaves, while somebody types.
  await phone.page.getByLabel("Type a line").focus();
  await phone.page.setViewportSize({ width: 390, height: 500 });
  await terminal.compose("echo typed-$(tput lines)");
  await terminal.shows(`typed-${fitted.rows}`);
  await phone.page.setViewportSize({ width: 390, height: 844 });

  const laptop = await Attachment.ofOwner(s.daemon, session.id, "mode=write&from=screen&client=0123456789abcdef");
  laptop.offerSize(120, 30);
  laptop.takeClaim();
  await phone.page.getByText("fitted the session to another screen").waitFor();
  await phone.page.getByRole("button", { name: "Fit to this one" }).tap();
  await laptop.until(() => laptop.claim?.taken_from === true);
  assert.match(laptop.claim.by, /Phone/);
  assert.deepEqual(laptop.size, fitted);

  await phone.page.getByRole("button", { name: "Actions" }).tap();
  await phone.page.getByRole("button", { name: "Give the size back" }).tap();
  await laptop.until(() => laptop.claim?.holder === true);
});

scenario("a session that fits a phone's screen fits it turned, too", async (s) => {
  const session = await s.daemon.session("turned", shellAfter(""));
  const { device: phone, terminal } = await s.watching("turned");
  await fit(phone);
  await terminal.rows.nth(24).waitFor();
  const owner = await Attachment.ofOwner(s.daemon, session.id, "mode=view&from=screen");
  await phone.page.setViewportSize({ width: 844, height: 390 });
  await owner.until(() => (owner.size?.columns ?? 0) > 90);
});

/** "Fit to this screen", from the menu. @param {import("./support/device.mjs").Device} device */
async function fit(device) {
  await device.page.getByRole("button", { name: "Actions" }).tap();
  await device.page.getByRole("button", { name: "Fit session to this screen" }).tap();
}

scenario("looking at a session that ended starts nothing", async (s) => {
  const session = await s.daemon.session("done", "echo only-once; exit 0");
  const phone = await s.paired({ profile: { ...PHONE, colorScheme: "dark" } });
  await phone.row("done").getByText("exit 0 ·").waitFor();
  await phone.row("done").tap();
  const terminal = await Terminal.ready(phone.page);
  await terminal.shows("only-once");
  assert.equal((await s.daemon.api("GET", `/v1/sessions/${session.id}`)).state, "exited");
  assert.equal((await s.daemon.api("GET", "/v1/sessions")).length, 1);
});
