import assert from "node:assert/strict";
import { DESKTOP, PHONE } from "./support/browser.mjs";
import { shellAfter } from "./support/daemon.mjs";
import { askToPair, codeOf, offer, PairCommand, partOfLink } from "./support/pairing.mjs";
import { scenario } from "./support/scenario.mjs";
import { Terminal } from "./support/terminal.mjs";

scenario("a phone pairs by an offer, sees a session as it is, and types into it", async (s) => {
  const session = await s.daemon.session("colours", shellAfter(SCREEN));
  const command = new PairCommand(s.daemon);
  const link = partOfLink((await command.next((line) => line.url)).url);
  const phone = await s.open({ ...PHONE, colorScheme: "dark" });
  const code = await askToPair(phone, link, "Ada’s phone");
  assert.match(code, /^\d{3}-\d{3}$/);
  assert.equal(phone.page.url(), `${s.origin}/pair`);

  const claim = await command.next((line) => line.code);
  assert.equal(digitsOf(claim.code), digitsOf(code), "the command line computed another code");
  assert.equal(claim.label, "Ada’s phone");
  await s.daemon.json("approve", code, "--role", "operator");
  assert.equal((await command.next((line) => line.state === "committed")).label, "Ada’s phone");
  assert.equal(await command.end(), 0);

  await phone.page.waitForURL(`${s.origin}/`);
  await phone.row("colours").tap();
  await phone.page.waitForURL(`${s.origin}/s/${session.id}`);
  const terminal = await Terminal.ready(phone.page);
  await assertScreen(terminal);
  await terminal.compose("echo $((6*7))-from-the-phone");
  await terminal.shows("42-from-the-phone");
  await terminal.type("echo $((7*7))-from-its-keyboard");
  await terminal.shows("49-from-its-keyboard");
});

scenario("a laptop types with its keyboard, interrupts and completes", async (s) => {
  await s.daemon.session("shell", shellAfter(""));
  const { terminal } = await s.watching("shell", { profile: DESKTOP });
  await terminal.shows("$");
  await terminal.type("echo 한글-$((6*7))");
  await terminal.shows(/^한글-42$/);
  await terminal.type("cat");
  await terminal.type("echoed");
  await terminal.shows(/^echoed$/);
  await terminal.page.keyboard.press("Control+c");
  await terminal.shows("^C");
  await terminal.type("echo after-the-interrupt | tr a-z A-Z");
  await terminal.shows("AFTER-THE-INTERRUPT");
});

scenario("the key bar of a phone has the keys that its keyboard lacks", async (s) => {
  await s.daemon.session("shell", shellAfter(""));
  const { terminal } = await s.watching("shell");
  const key = (/** @type {string} */ name) => terminal.page.getByRole("button", { name, exact: true }).tap();
  await terminal.compose("echo the-$((1+0))-line");
  await terminal.shows("the-1-line");
  await terminal.compose("clear");
  await terminal.atPrompt();
  await key("Up");
  await key("Up");
  await terminal.shows("$ echo the-$((1+0))-line");
  await terminal.compose("");
  await terminal.shows("the-1-line");
  await terminal.compose("cat");
  await key("Ctrl");
  await terminal.page.getByLabel("Type a line").pressSequentially("c");
  await terminal.shows("^C");
  assert.equal(await terminal.page.getByLabel("Type a line").inputValue(), "");
  await terminal.page.getByLabel("Type a line").fill("");
  await terminal.compose("echo $((5+5))-is-back");
  await terminal.shows("10-is-back");
});

scenario("pairing works where the certificate is not trusted", async (s) => {
  const phone = await s.openUntrusted({ ...PHONE, ignoreHTTPSErrors: true });
  // The browser's own word that it takes no service worker there; the page says what that means.
  phone.tolerate(/SSL certificate|unknown error occurred when fetching the script/);
  await phone.goto(await offer(s.daemon));
  const told = phone.page.locator('[data-certificate="untrusted"]');
  await told.getByText("Your browser does not trust the certificate").click();
  for (const text of ["on an iPhone or iPad no terminal opens", "ends in .ts.net", "transom certs trust"])
    await told.getByText(text).first().waitFor();
  await phone.page.getByLabel("Name of this device").fill("Stranger");
  await phone.page.getByRole("button", { name: "Pair this device" }).click();
  await s.daemon.json("approve", await codeOf(phone), "--role", "viewer");
  await phone.page.waitForURL(`${s.origin}/`);
  await phone.connection("live").waitFor();
});

scenario("a browser that does not trust the certificate says so before anything is sent", async (s) => {
  const phone = await s.openUntrusted(PHONE);
  await assert.rejects(phone.goto("/"), /ERR_CERT_AUTHORITY_INVALID/);
});

/** @param {Terminal} terminal */
async function assertScreen(terminal) {
  const text = await terminal.atPrompt();
  assert.deepEqual(text.slice(0, 5), ["green red orange", "한글 and 漢字", "👩 waves", "┌──┐", "└──┘"]);
  assert.equal(await terminal.colour("green"), "rgb(134, 207, 140)");
  assert.equal(await terminal.colour("orange"), "rgb(255, 136, 0)");
}

/** @param {string} code */
function digitsOf(code) {
  return code.replaceAll(/\D/g, "");
}

const SCREEN = [
  "\\033[32mgreen\\033[0m \\033[31mred\\033[0m \\033[38;2;255;136;0morange\\033[0m",
  "한글 and 漢字",
  "👩 waves",
  "┌──┐",
  "└──┘",
  "",
].join("\\r\\n");
