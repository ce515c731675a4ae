import assert from "node:assert/strict";
import { Attachment } from "./support/attachment.mjs";
import { shellAfter } from "./support/daemon.mjs";
import { scenario } from "./support/scenario.mjs";
import { Terminal } from "./support/terminal.mjs";

scenario("the list follows its sessions without a reload", async (s) => {
  const phone = await s.paired();
  await phone.page.getByText("No sessions yet").waitFor();
  await phone.page.evaluate(() => Object.assign(globalThis, { isTheSamePage: true }));

  const session = await s.daemon.session("build", "read line; echo compiling $line; read line; exit 3");
  await phone.row("build").waitFor();
  await s.daemon.session("other", shellAfter(""));
  await phone.row("other").waitFor();

  const owner = await Attachment.ofOwner(s.daemon, session.id, "mode=write&from=screen");
  owner.type(1, "main.rs\r");
  await phone.row("build").getByText("compiling main.rs").waitFor();
  await phone.row("build").getByText("1 viewer").waitFor({ state: "attached" });
  owner.type(2, "\r");
  await phone.page.locator('.session[data-state="failed"]').getByText("exit 3 ·").waitFor();
  assert.ok(await phone.page.evaluate(() => "isTheSamePage" in globalThis));
});

scenario("Tab stops once in the list, and the arrow keys go through groups and what was found", async (s) => {
  const labels = (/** @type {string} */ project) => ({ labels: { project } });
  for (const [name, project] of [["one", "api"], ["two", "api"], ["three", "web"], ["four", "web"]]) {
    await s.daemon.api("POST", "/v1/sessions", { command: "sh", args: ["-c", "read line"], name, ...labels(project ?? "") });
  }
  const { page } = await s.paired({ profile: { viewport: { width: 900, height: 800 } } });
  const at = () => page.evaluate(focusedName);
  await page.locator(".session").nth(3).waitFor();
  const stops = [];
  for (let presses = 0; presses < 6; presses += 1) {
    await page.keyboard.press("Tab");
    stops.push(await at());
  }
  assert.deepEqual(stops.slice(0, 4), ["Find a session", "Group", "four", "This device: Test device · operator"], stops.join());

  await page.getByRole("combobox", { name: "Group" }).selectOption("project");
  await page.getByRole("heading", { name: "web" }).waitFor();
  await page.getByRole("combobox", { name: "Group" }).focus();
  await page.keyboard.press("Tab");
  assert.equal(await at(), "two");
  for (const [key, name] of [["ArrowDown", "one"], ["ArrowDown", "four"], ["End", "three"], ["ArrowUp", "four"], ["Home", "two"], ["ArrowDown", "one"]]) {
    await page.keyboard.press(key ?? "");
    assert.equal(await at(), name, key);
  }
  await page.keyboard.press("Tab");
  await page.keyboard.press("Shift+Tab");
  assert.equal(await at(), "one", "Tab comes back to where it was");

  await page.getByRole("searchbox").focus();
  await page.keyboard.type("=web");
  await page.locator(".session").nth(2).waitFor({ state: "detached" });
  await page.keyboard.press("ArrowDown");
  assert.equal(await at(), "four");
  await page.keyboard.press("ArrowDown");
  assert.equal(await at(), "three");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "three" }).waitFor();
});

/** Runs in the page: what has the focus, by the name that a person reads. */
function focusedName() {
  const { activeElement: node } = document;
  return node?.querySelector(".session-name")?.textContent ?? node?.getAttribute("aria-label") ?? node?.textContent ?? "";
}

scenario("a page says how the program ended", async (s) => {
  await s.daemon.session("seven", "read line; echo goodbye; exit 7");
  const { device, terminal } = await s.watching("seven");
  await terminal.compose("");
  await device.page.getByText("The program ended with exit code 7.").waitFor();
  await terminal.shows("goodbye");
  assert.equal(await device.page.getByLabel("Type a line").count(), 0);
});

scenario("a session is stopped, deleted and restored from the page", async (s) => {
  const session = await s.daemon.session("unwanted", "echo was-here; read line");
  const { device: phone, terminal } = await s.watching("unwanted");
  await terminal.shows("was-here");
  await phone.page.getByRole("button", { name: "Actions" }).tap();
  await phone.page.getByRole("button", { name: "Stop program" }).tap();
  await phone.page.getByRole("dialog").getByRole("button", { name: "Stop" }).tap();
  await phone.page.getByText("The program was ended by signal").waitFor();
  await phone.page.getByRole("button", { name: "Actions" }).tap();
  await phone.page.getByRole("button", { name: "Delete session" }).tap();
  await phone.page.getByRole("dialog").getByRole("button", { name: "Delete" }).tap();
  await phone.page.getByText("“unwanted” is deleted").waitFor();
  await phone.row("unwanted").waitFor({ state: "detached" });
  assert.equal((await s.daemon.api("GET", "/v1/sessions")).length, 0);
  await phone.page.getByRole("button", { name: "Restore" }).tap();
  await phone.row("unwanted").getByText("was-here", { exact: true }).waitFor();
  assert.equal((await s.daemon.api("GET", "/v1/sessions"))[0].id, session.id);
});

scenario("the notice of a deletion is put away, and the session stays deleted", async (s) => {
  await s.daemon.session("unwanted", "read line");
  const { device: phone } = await s.watching("unwanted");
  await phone.page.getByRole("button", { name: "Actions" }).tap();
  await phone.page.getByRole("button", { name: "Delete session" }).tap();
  await phone.page.getByRole("dialog").getByRole("button", { name: "Delete" }).tap();
  const notice = phone.page.locator("[data-notice=deleted]");
  await notice.getByRole("button", { name: "Dismiss" }).tap();
  await notice.waitFor({ state: "detached" });
  assert.equal((await s.daemon.api("GET", "/v1/sessions")).length, 0);
});

scenario("the way back from a session goes back, to the place in the list and the row that led away", async (s) => {
  for (let at = 0; at < 14; at += 1) await s.daemon.session(`session-${at}`, "read line");
  const phone = await s.paired();
  const { page } = phone;
  const before = await page.evaluate(() => history.length);
  const row = phone.row("session-2");
  await row.scrollIntoViewIfNeeded();
  await row.tap({ trial: true });
  const place = await page.evaluate(() => window.scrollY);
  assert.ok(place > 0, "the list is longer than the screen");
  await row.tap();
  await Terminal.ready(page);
  await page.locator("h1:focus").getByText("session-2").waitFor();
  await page.getByRole("link", { name: "Sessions" }).tap();
  await row.and(page.locator(":focus")).waitFor();
  await page.waitForFunction((former) => window.scrollY === former, place);
  assert.equal(await page.evaluate(() => history.length), before + 1);
  await page.goForward();
  await Terminal.ready(page);
  await page.goBack();
  await row.and(page.locator(":focus")).waitFor();
  await page.waitForFunction((former) => window.scrollY === former, place);
});

scenario("a daemon that is killed and comes back costs no session", async (s) => {
  await s.daemon.session("outlives-it", shellAfter(""));
  const home = await s.paired({ label: "At the list" });
  const { device: watching, terminal } = await s.watching("outlives-it", { label: "At the terminal" });
  for (const device of [home, watching]) device.tolerate(/net::ERR_|WebSocket connection|status of 40[14]/);

  s.tunnel.cut();
  await s.daemon.kill();
  await home.connection("reconnecting").waitFor();
  await watching.connection("reconnecting").waitFor();
  await home.row("outlives-it").waitFor();
  await home.page.getByText("Not live: this is how it stood at").waitFor();

  await s.restart();
  await home.connection("live").waitFor();
  await home.row("outlives-it").waitFor();
  await watching.connection("live").waitFor();
  await terminal.compose("echo still-$((40 + 2))");
  await terminal.shows("still-42");
});
