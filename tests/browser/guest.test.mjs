import assert from "node:assert/strict";
import { DESKTOP, PHONE } from "./support/browser.mjs";
import { shellAfter } from "./support/daemon.mjs";
import { partOfLink } from "./support/pairing.mjs";
import { scenario } from "./support/scenario.mjs";
import { Terminal } from "./support/terminal.mjs";

/** @typedef {import("./support/scenario.mjs").Scenario} Scenario */

/** Links to look at sessions, as path and fragment. @param {Scenario} s @param {...string} words @returns {Promise<string[]>} */
async function invite(s, ...words) {
  const made = await s.daemon.json("invite", ...words);
  return made.map((/** @type {{ url: string }} */ { url }) => partOfLink(url));
}

/** A shell that has shown its prompt: what it printed before an invitation, no guest sees. @param {Scenario} s @param {string} name */
async function shell(s, name) {
  await s.daemon.session(name, shellAfter("first\\r\\n"));
  await s.daemon.json("wait", name, "--text", "^\\$");
}

/** Types a line as the owner. @param {Scenario} s @param {string} session @param {string} line */
async function type(s, session, line) {
  await s.daemon.json("send", session, line, "--enter");
}

scenario("a guest opens a link and sees what comes, and nothing of before", async (s) => {
  await shell(s, "shared");
  const [link = ""] = await invite(s, "shared", "--for", "1h");
  const device = await s.open(PHONE);
  await device.goto(link);
  const terminal = await Terminal.ready(device.page);
  assert.ok(!device.page.url().includes("#"), "the secret is out of the address bar");
  await device.page.getByText("Nothing was printed since you were invited.").waitFor();
  await type(s, "shared", "echo seen-$((1+1))");
  await terminal.shows("seen-2");
  assert.ok(!(await terminal.text()).join("\n").includes("first"));
  assert.equal(await device.page.getByLabel("Type a line").count(), 0);
  assert.equal(await device.page.getByRole("button", { name: "Actions" }).count(), 0);
  await device.page.getByText("59 min left").waitFor();

  await device.page.reload();
  await (await Terminal.ready(device.page)).shows("seen-2");
  await device.goto(link);
  await (await Terminal.ready(device.page)).shows("seen-2");
});

scenario("a second browser is told that the link was used, and the owner that somebody tried", async (s) => {
  await shell(s, "shared");
  const [link = ""] = await invite(s, "shared", "--for", "1h");
  const first = await s.open(PHONE);
  await first.goto(link);
  await Terminal.ready(first.page);
  const second = await s.open(DESKTOP);
  second.tolerate(/status of 409/);
  await second.goto(link);
  await second.message("guest_used").waitFor();
  const [guest] = await s.daemon.json("guests");
  assert.equal(guest.state, "joined");
  assert.equal(guest.refused.count, 1);
});

scenario("a guest that is ended sees that, and one that leaves too", async (s) => {
  await shell(s, "shared");
  const [one = "", two = ""] = await invite(s, "shared", "--for", "1h", "--count", "2");
  const ended = await s.open(PHONE);
  ended.tolerate(/status of 4\d\d|WebSocket connection/);
  await ended.goto(one);
  await Terminal.ready(ended.page);
  await s.daemon.json("guests", "end", "--all");
  await ended.message("guest_ended").waitFor();
  assert.deepEqual(await ended.credentials(), []);
  await ended.goto(one);
  await ended.message("guest_ended").waitFor();

  const [link = ""] = await invite(s, "shared", "--for", "1h");
  const leaves = await s.open(PHONE);
  leaves.tolerate(/status of 4\d\d|WebSocket connection|net::ERR_/);
  await leaves.goto(link);
  await Terminal.ready(leaves.page);
  await leaves.page.getByRole("button", { name: "Leave" }).click();
  await leaves.message("guest_left").waitFor();
  assert.deepEqual(await leaves.credentials(), []);
  await leaves.goto(two);
  await leaves.message("guest_ended").waitFor();
});

scenario("a guest's page works on, and an unused link opens, after the daemon was killed and came back", async (s) => {
  await shell(s, "shared");
  const [link = "", unused = ""] = await invite(s, "shared", "--for", "1h", "--count", "2");
  const device = await s.open(PHONE);
  device.tolerate(/net::ERR_|WebSocket connection|status of 40[14]/);
  await device.goto(link);
  await Terminal.ready(device.page);
  await type(s, "shared", "echo seen-$((1+1))");
  await (await Terminal.ready(device.page)).shows("seen-2");

  s.tunnel.cut();
  await s.daemon.kill();
  await device.connection("reconnecting").waitFor();
  await s.restart();
  await device.connection("live").waitFor();
  await type(s, "shared", "echo seen-$((2+2))");
  const terminal = await Terminal.ready(device.page);
  await terminal.shows("seen-4");
  assert.ok(!(await terminal.text()).join("\n").includes("first"));

  const late = await s.open(DESKTOP);
  await late.goto(unused);
  await (await Terminal.ready(late.page)).shows("seen-4");
});

scenario("a guest is shown each of its sessions, and the end of its time", async (s) => {
  await shell(s, "one");
  await shell(s, "two");
  const [link = ""] = await invite(s, "one", "two", "--for", "1h", "--with-scrollback");
  const device = await s.open(PHONE);
  await device.goto(link);
  await (await Terminal.ready(device.page)).shows("first");
  await device.page.getByRole("heading", { name: "one" }).waitFor();
  const names = await device.page.getByLabel("Sessions").locator("option").allTextContents();
  assert.deepEqual(names, ["one", "two"], "also of what it has not looked at yet");
  await device.page.getByLabel("Sessions").selectOption("two");
  await device.page.getByRole("heading", { name: "two" }).waitFor();

  const [short = ""] = await invite(s, "one", "--for", "20s");
  const brief = await s.open(DESKTOP);
  brief.tolerate(/status of 401|WebSocket connection/);
  await brief.goto(short);
  await Terminal.ready(brief.page);
  await brief.message("guest_expired").waitFor();
  assert.deepEqual(await brief.credentials(), []);
});

scenario("links that are cut off, missing or dead say so", async (s) => {
  const device = await s.open(PHONE);
  device.tolerate(/status of 4\d\d/);
  await device.goto("/guest");
  await device.message("guest_none").waitFor();
  await device.goto("/guest#gst_0123456789abcdef.short");
  await device.message("guest_malformed").waitFor();
  const secret = "s".repeat(43);
  await device.goto(`/guest#gst_0123456789abcdef.${secret}.sha256/${"p".repeat(43)}`);
  await device.message("guest_unknown").waitFor();
});

for (const [kind, profile] of Object.entries({ phone: PHONE, desktop: DESKTOP })) {
  for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
    scenario(`a guest's screens draw themselves on a ${colorScheme} ${kind}`, async (s) => {
      await shell(s, "build");
      const [blank = "", link = ""] = await invite(s, "build", "--for", "90m", "--count", "2");
      const device = await s.open({ ...profile, colorScheme });
      device.tolerate(/status of 4\d\d|WebSocket connection|net::ERR_/);
      const draw = (/** @type {string} */ name) => s.screen(device, `guest-${kind}-${colorScheme}-${name}`);
      await device.goto(blank);
      await Terminal.ready(device.page);
      await device.page.getByText("Nothing was printed").waitFor();
      await draw("1-blank");
      await type(s, "build", "ls --color=always /");
      await (await Terminal.ready(device.page)).shows("usr");
      await device.page.getByText(/Live · \d+ ms/).waitFor();
      await draw("2-watching");
      await s.daemon.json("guests", "end", "--all");
      await device.message("guest_ended").waitFor();
      await draw("3-ended");
      await device.goto(link);
      await device.message("guest_ended").waitFor();
      const [used = ""] = await invite(s, "build", "--for", "1h");
      const first = await s.open(profile);
      await first.goto(used);
      await Terminal.ready(first.page);
      await device.goto(used);
      await device.message("guest_used").waitFor();
      await draw("4-used");
      await device.goto("/guest#cut");
      await device.message("guest_malformed").waitFor();
      await draw("5-malformed");
    });
  }
}
