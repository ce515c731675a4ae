import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Attachment } from "./support/attachment.mjs";
import { DESKTOP } from "./support/browser.mjs";
import { shellAfter } from "./support/daemon.mjs";
import { scenario } from "./support/scenario.mjs";

scenario("after a cut the screen is right and every key was typed once", async (s) => {
  await s.daemon.session("shell", shellAfter(""));
  const phone = await s.watching("shell", { label: "Phone" });
  const laptop = await s.watching("shell", { label: "Laptop", profile: DESKTOP });
  for (const { device } of [phone, laptop]) device.tolerate(CUT);
  await phone.terminal.compose("count=0");
  await phone.terminal.compose("count=$((count+1)); echo before-$count");
  await phone.terminal.shows("before-1");

  s.tunnel.cut();
  await phone.device.connection("reconnecting").waitFor();
  await phone.terminal.compose("count=$((count+100))");
  await phone.device.page.getByText("Not connected: 21 keys wait, and will be sent once.").waitFor();
  s.tunnel.mend();
  await phone.device.connection("live").waitFor();

  await phone.terminal.compose("count=$((count+1)); echo after-$count");
  await phone.terminal.shows("after-102");
  await laptop.terminal.showsExactly(await phone.terminal.atPrompt());
});

scenario("output that was printed while the network was away is on the screen, once", async (s) => {
  const session = await s.daemon.session("shell", shellAfter(""));
  const { device, terminal } = await s.watching("shell");
  device.tolerate(CUT);
  await terminal.shows("$");
  s.tunnel.cut();
  await device.connection("reconnecting").waitFor();
  const owner = await Attachment.ofOwner(s.daemon, session.id, "mode=write&from=screen");
  owner.type(1, "seq 1 15; echo the-$((1+0))-end\r");
  await owner.until(() => owner.output.includes("the-1-end"));
  s.tunnel.mend();
  await terminal.shows("the-1-end");
  const numbers = (await terminal.text()).filter((row) => /^\d+$/.test(row)).map(Number);
  assert.deepEqual(numbers, Array.from({ length: 15 }, (_, at) => at + 1));
});

scenario("a browser without a network says offline, and is live again when it is back", async (s) => {
  await s.daemon.session("shell", shellAfter(""));
  const { device, terminal } = await s.watching("shell");
  device.tolerate(CUT);
  await device.page.context().setOffline(true);
  s.tunnel.cut();
  await device.connection("offline").waitFor();
  s.tunnel.mend();
  await device.page.context().setOffline(false);
  await device.connection("live").waitFor();
  await terminal.compose("echo back-$((40+2))");
  await terminal.shows("back-42");
});

scenario("whatever is cut, each key that is typed arrives once and in order", async (s) => {
  const got = join(s.home, "typed");
  await s.daemon.session("catcher", `stty raw -echo; printf ready; exec head -c 600 > ${got}`);
  const { device, terminal } = await s.watching("catcher", { profile: DESKTOP });
  device.tolerate(CUT);
  await terminal.shows("ready");
  const typed = Array.from({ length: 120 }, (_, at) => `${String(at).padStart(4, "0")}.`);
  await device.page.getByRole("textbox", { name: "Terminal", exact: true }).focus();
  for (const [at, word] of typed.entries()) {
    await device.page.keyboard.type(word);
    if (at % 20 === 10) s.tunnel.snap();
  }
  await device.page.getByText("The program ended with exit code 0.").waitFor();
  assert.equal(await readFile(got, "utf8"), typed.join(""));
});

scenario("keys that waited when the page was loaded again arrive once", async (s) => {
  await s.daemon.session("shell", shellAfter(""));
  const { device, terminal } = await s.watching("shell");
  device.tolerate(CUT);
  await terminal.compose("count=0");
  await terminal.atPrompt();
  s.tunnel.cut();
  await device.connection("reconnecting").waitFor();
  await terminal.compose("count=$((count+1)); echo so-$count");
  await device.page.getByText("keys wait").waitFor();
  s.tunnel.mend();
  await device.page.reload();
  await terminal.shows("so-1");
  await terminal.compose("echo still-$count");
  await terminal.shows("still-1");
});

scenario("a paste of a megabyte into a session that floods arrives whole, and the page stays", async (s) => {
  const got = join(s.home, "pasted");
  const text = Array.from({ length: 128 * 1024 }, (_, at) => `${String(at).padStart(7, "0")}\n`).join("");
  const flood = "while :; do echo flood-flood-flood-flood; done &";
  await s.daemon.session("flood", `stty raw -echo; ${flood} head -c ${text.length} > ${got}; kill $!; wait; printf '\\r\\nall-of-it\\r\\n'; read line`);
  const { device, terminal } = await s.watching("flood", { profile: DESKTOP });
  await terminal.shows("flood-flood");
  await device.page.evaluate(() => Object.assign(globalThis, { isTheSamePage: true }));
  const sockets = device.requests.length;
  await terminal.paste(text);
  await terminal.shows("all-of-it");
  const digest = (/** @type {string | Buffer} */ bytes) => createHash("sha256").update(bytes).digest("hex");
  assert.equal(digest(await readFile(got)), digest(text.replaceAll("\n", "\r")));
  assert.ok(await device.page.evaluate(() => "isTheSamePage" in globalThis));
  const since = device.requests.slice(sockets).map(({ url }) => new URL(url).pathname);
  assert.deepEqual(since.filter((path) => path.endsWith("/attach")), []);
});

scenario("a page that cannot connect at first, and one that was frozen, is live again by itself", async (s) => {
  await s.daemon.session("shell", shellAfter(""));
  const { device, terminal } = await s.watching("shell");
  device.tolerate(CUT);
  await terminal.compose("echo one-$((0+1))");
  await terminal.shows("one-1");
  s.tunnel.refuseNext(3);
  s.tunnel.snap();
  await device.connection("reconnecting").waitFor();
  await device.connection("live").waitFor();

  const devtools = await device.page.context().newCDPSession(device.page);
  await devtools.send("Page.setWebLifecycleState", { state: "frozen" });
  s.tunnel.snap();
  await devtools.send("Page.setWebLifecycleState", { state: "active" });
  await device.connection("live").waitFor();
  await terminal.compose("echo two-$((0+2))");
  await terminal.shows("two-2");
});

scenario("what happened to the list while it was cut off is in it afterwards, as on a fresh page", async (s) => {
  const phone = await s.paired();
  phone.tolerate(CUT);
  await s.daemon.session("before", "read line");
  await phone.row("before").waitFor();
  // Rows below a pointer stay where they are, and new ones join at the end.
  await phone.page.mouse.move(0, 0);
  s.tunnel.cut();
  await phone.connection("reconnecting").waitFor();
  for (let at = 0; at < 25; at += 1) await s.daemon.session(`s${at}`, at % 2 === 0 ? `echo line-${at}; exit ${at}` : `echo line-${at}; read line`);
  s.tunnel.mend();
  await phone.connection("live").waitFor();
  await phone.row("s24").getByText("exit 24 ·").waitFor();
  await phone.row("s23").getByText("line-23", { exact: true }).waitFor();
  const fresh = await phone.page.context().newPage();
  await fresh.goto(`${s.origin}/`);
  await fresh.locator(".session").nth(25).waitFor();
  const names = (/** @type {import("playwright-core").Page} */ page) =>
    page.locator(".session").evaluateAll((rows) => rows.map((row) => [".session-name", ".session-line"].map((part) => row.querySelector(part)?.textContent).join(" ")));
  assert.deepEqual(await names(phone.page), await names(fresh));
});

/** What the browser itself says of connections that are cut. */
const CUT = /net::ERR_|WebSocket connection/;
