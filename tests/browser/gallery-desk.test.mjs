import { DESKTOP } from "./support/browser.mjs";
import { shellAfter } from "./support/daemon.mjs";
import { Desk } from "./support/desk.mjs";
import { pairByOffer } from "./support/pairing.mjs";
import { scenario } from "./support/scenario.mjs";

for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
  scenario(`sessions side by side and the palette draw themselves, ${colorScheme}`, async (s) => {
    await startSessions(s);
    const device = await s.open({ ...DESKTOP, viewport: { width: 1440, height: 900 }, colorScheme });
    device.tolerate(/net::ERR_|WebSocket connection|status of 4\d\d/);
    await pairByOffer(device, s.daemon, "operator", "Ada’s desk");
    const desk = new Desk(device);
    let count = 0;
    await drawDesk(s, desk, (name) => s.screen(device, `desk-${colorScheme}-${(count += 1)}-${name}`));
  });
}

/** @param {import("./support/scenario.mjs").Scenario} s @param {Desk} desk @param {(name: string) => Promise<void>} draw */
async function drawDesk(s, desk, draw) {
  await desk.page.locator(".session-message").waitFor();
  await draw("no-tiles");
  await desk.find("editor", "Enter");
  await desk.shows("editor", "fn main");
  await draw("one-tile");
  await desk.find("api", "Shift+Enter");
  await desk.shows("api", "listening");
  await desk.find("release", "Control+Enter");
  await desk.shows("release", "released");
  await desk.page.locator(".exit").waitFor();
  await draw("tiles");
  await desk.open();
  await draw("palette");
  await desk.page.keyboard.type("mig");
  await draw("palette-found");
  await desk.page.keyboard.type("zz");
  await desk.palette.getByText("Nothing of that name.").waitFor();
  await draw("palette-nothing");
  await desk.leave();
  await desk.open();
  await desk.page.keyboard.type("split below");
  await desk.page.keyboard.press("Enter");
  await desk.page.getByRole("combobox", { name: "Show which session below?" }).waitFor();
  await draw("palette-below");
  await desk.leave();
  await desk.find("keyboard shortcuts", "Enter");
  await desk.page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await draw("shortcuts");
  await desk.page.keyboard.press("Escape");
  const sessions = /** @type {import("./support/daemon.mjs").Session[]} */ (await s.daemon.api("GET", "/v1/sessions"));
  const api = sessions.find(({ name }) => name === "api")?.id;
  await desk.find("api", "Enter");
  await desk.hasKeys("api");
  await s.daemon.api("DELETE", `/v1/sessions/${api}`);
  await desk.device.message("gone").waitFor();
  await draw("tile-gone");
  s.tunnel.cut();
  await desk.tile("editor").locator('[data-connection="reconnecting"]').waitFor();
  await desk.page.getByText("Not live").waitFor();
  await draw("reconnecting");
}

/** @param {import("./support/scenario.mjs").Scenario} s */
async function startSessions(s) {
  await s.daemon.session("release", "printf 'released 1.4.0\\n'");
  await s.daemon.session("deploy", "printf 'error: no such host: staging\\n'; exit 1");
  await s.daemon.session("api", shellAfter("\\033[32mINFO\\033[0m listening on 127.0.0.1:8080\\r\\n"));
  await s.daemon.session("editor", shellAfter("\\033[34mfn\\033[0m main() {\\r\\n    serve();\\r\\n}\\r\\n"));
  await s.daemon.session("migrate", "printf '3 migrations are pending\\033]9;May I run the migrations?\\a'; read line");
}
