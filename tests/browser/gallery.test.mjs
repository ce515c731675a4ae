import { Attachment } from "./support/attachment.mjs";
import { DESKTOP, PHONE } from "./support/browser.mjs";
import { askToPair, offer, pairByOffer } from "./support/pairing.mjs";
import { scenario } from "./support/scenario.mjs";
import { Terminal } from "./support/terminal.mjs";

/** @typedef {import("./support/scenario.mjs").Scenario} Scenario */
/** @typedef {import("./support/scenario.mjs").Profile} Profile */

for (const [kind, profile] of Object.entries({ phone: PHONE, desktop: DESKTOP })) {
  for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
    const look = { ...profile, colorScheme };
    scenario(`every screen draws itself on a ${colorScheme} ${kind}`, (s) => drawAll(s, look, `${kind}-${colorScheme}`));
  }
}

/**
 * Keeps a picture of every screen in every state; what is in them is other tests' business.
 * @param {Scenario} s
 * @param {Profile} look
 * @param {string} suffix
 */
async function drawAll(s, look, suffix) {
  let count = 0;
  const draw = (/** @type {import("./support/device.mjs").Device} */ device, /** @type {string} */ name) =>
    s.screen(device, `${suffix}-${String((count += 1)).padStart(2, "0")}-${name}`);

  await drawPairing(s, look, draw);
  await drawRefusals(s, look, draw);
  await drawSessions(s, look, draw);
}

/**
 * @typedef {(device: import("./support/device.mjs").Device, name: string) => Promise<void>} Draw
 * @param {Scenario} s
 * @param {Profile} look
 * @param {Draw} draw
 */
async function drawPairing(s, look, draw) {
  const device = await s.open(look);
  await device.goto("/");
  await device.message("unpaired").waitFor();
  await draw(device, "not-paired");
  await device.goto(await offer(s.daemon));
  await device.page.getByLabel("Name of this device").waitFor();
  await draw(device, "pair");
  const code = await askToPair(device, await offer(s.daemon), "Ada’s phone");
  await draw(device, "code");
  await s.daemon.json("approve", code, "--role", "operator");
  await device.page.getByText("No sessions yet").waitFor();
  await draw(device, "home-empty");
  await device.goto(await offer(s.daemon));
  await device.page.getByText("already paired").waitFor();
  await draw(device, "pair-again");
}

/** @param {Scenario} s @param {Profile} look @param {Draw} draw */
async function drawRefusals(s, look, draw) {
  const device = await s.open(look);
  device.tolerate(/status of 4\d\d/);
  const code = await askToPair(device, await offer(s.daemon), "Unwanted");
  await s.daemon.json("reject", code);
  await device.message("pair_rejected").waitFor();
  await draw(device, "rejected");
  await device.goto("/pair#ofr_0123456789abcdef");
  await device.message("pair_malformed").waitFor();
  await draw(device, "malformed");
  const link = await offer(s.daemon);
  await device.goto(link.replace(/ofr_\w+/, "ofr_0123456789abcdef"));
  await device.page.getByRole("button", { name: "Pair this device" }).click();
  await device.page.getByText("This offer does not work").waitFor();
  await draw(device, "dead-offer");
  await device.goto("/pair");
  await device.message("pair_no_offer").waitFor();
  await draw(device, "no-offer");
}

/** @param {Scenario} s @param {Profile} look @param {Draw} draw */
async function drawSessions(s, look, draw) {
  const building = await startSessions(s);
  const device = await s.open(look);
  device.tolerate(/net::ERR_|WebSocket connection|status of 4\d\d/);
  await pairByOffer(device, s.daemon, "operator", "Ada’s laptop");
  await device.page.locator('.session[data-state="failed"]').waitFor();
  await device.connection("live").getByText(/Live · \d+ ms/).waitFor();
  await draw(device, "home");
  await device.connection("live").click();
  await device.page.getByRole("dialog", { name: "Connection figures" }).getByText("a second").waitFor();
  await draw(device, "home-figures");
  await device.page.keyboard.press("Escape");
  await device.page.getByRole("link", { name: "This device" }).click();
  await device.page.getByText("look, type, start and stop").waitFor();
  await draw(device, "device");
  await device.page.getByRole("link", { name: "Sessions" }).click();
  await device.row("build").waitFor();
  await device.row("build").click();
  const terminal = await Terminal.ready(device.page);
  await terminal.atPrompt();
  await device.connection("live").getByText(/Live · \d+ ms/).waitFor();
  await draw(device, "terminal");
  await device.page.getByRole("button", { name: "Readable size" }).click();
  await draw(device, "terminal-readable");
  await device.page.getByRole("button", { name: "Fit all columns" }).click();
  await device.page.getByRole("button", { name: "Actions" }).click();
  await draw(device, "terminal-actions");
  await device.page.getByRole("button", { name: "Stop program" }).click();
  await device.page.getByRole("dialog").waitFor();
  await draw(device, "terminal-stop");
  await device.page.getByRole("button", { name: "Cancel" }).click();

  const viewer = await s.open(look);
  await pairByOffer(viewer, s.daemon, "viewer", "A viewer");
  await viewer.row("build").click();
  await (await Terminal.ready(viewer.page)).atPrompt();
  await draw(viewer, "terminal-viewer");
  await viewer.page.getByRole("button", { name: "1 other is here" }).click();
  await draw(viewer, "terminal-presence");
  await viewer.page.close();

  s.tunnel.cut();
  await device.connection("reconnecting").waitFor();
  await terminal.page.getByRole("textbox", { name: "Terminal", exact: true }).focus();
  await device.page.keyboard.type("ls -l");
  await device.page.getByText("5 keys wait").waitFor();
  await draw(device, "terminal-reconnecting");
  s.tunnel.mend();
  await device.connection("live").waitFor();
  const owner = await Attachment.ofOwner(s.daemon, building.id, "mode=write&from=screen");
  owner.type(1, "\u0015exit 3\r");
  await device.page.getByText("exit code 3").waitFor();
  await draw(device, "terminal-exited");
  if (look.isMobile) await device.page.getByRole("link", { name: "Sessions" }).click();
  else await device.goto("/");
  // A wide screen shows the session, too, which has ended.
  const live = device.page.locator('.page .status[data-connection="live"], .sidebar .status[data-connection="live"]');
  await live.waitFor();
  s.tunnel.cut();
  await device.page.getByText("Not live").waitFor();
  await draw(device, "home-reconnecting");
  s.tunnel.mend();
  await live.waitFor();
  await s.daemon.json("revoke", "Ada’s laptop", "--yes");
  await device.message("revoked").waitFor();
  await draw(device, "revoked");
}

/** @param {Scenario} s */
async function startSessions(s) {
  await s.daemon.session("htop", "printf 'CPU 12%%  Mem 3.1G  Tasks 214'; read line");
  await s.daemon.session("tests", "printf 'test result: ok. 214 passed; 0 failed\\n'");
  await s.daemon.session("deploy", "printf 'error: no such host: staging\\n'; exit 1");
  return s.daemon.session("build", `printf '${BUILD}'; exec bash --noprofile --norc -i`);
}

const BUILD = [
  "\\033[1;32m   Compiling\\033[0m pairing v0.1.0",
  "\\033[1;32m   Compiling\\033[0m terminal v0.1.0",
  "\\033[1;33mwarning\\033[0m: unused variable: \\033[1m`size`\\033[0m",
  "\\033[1;34m  -->\\033[0m terminal/src/screen.rs:41:9",
  "\\033[1;34m   |\\033[0m",
  "\\033[1;34m41 |\\033[0m     let size = terminal.size();",
  "\\033[1;34m   |\\033[0m         \\033[1;33m^^^^ help: prefix it with an underscore\\033[0m",
  "",
  "\\033[1;32m    Finished\\033[0m dev profile in 12.41s",
  "한글 漢字 👩 ┌──┐ \\033[7m inverse \\033[0m \\033[38;2;255;136;0mtruecolor\\033[0m",
  "\\033[31mred\\033[0m \\033[32mgreen\\033[0m \\033[33myellow\\033[0m \\033[34mblue\\033[0m \\033[35mmagenta\\033[0m \\033[36mcyan\\033[0m \\033[90mgrey\\033[0m",
  "",
].join("\\r\\n");
