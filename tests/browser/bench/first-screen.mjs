import { barePage } from "./bare.mjs";
import { Phone } from "./phone.mjs";
import { prepare, started } from "./watch.mjs";

/**
 * From the tap on a row of the list until the session's screen is drawn, in milliseconds; beside a page that has the
 * screen's bytes and begins the widget at a tap. Each page is loaded anew, so nothing of a session was there before.
 * @param {import("../support/scenario.mjs").Scenario} s
 */
export async function firstScreen(s) {
  await s.daemon.session("screen", `printf '${LINES.join("\\r\\n")}'; exec cat`);
  const { phone, device } = await Phone.paired(s);
  await phone.slowDown();
  const ours = [];
  const floor = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    ours.push(await tapRow(phone, device));
    floor.push(await tapBare(s));
  }
  return { "first-screen": { ours, floor } };
}

/**
 * @param {Phone} phone
 * @param {import("../support/device.mjs").Device} device
 */
async function tapRow(phone, device) {
  await device.goto("/");
  await device.connection("live").waitFor();
  await phone.page.evaluate(quiet);
  await prepare(phone.page);
  const took = await started(phone.page, "untilShown", "pointerup", LAST);
  await device.row("screen").tap();
  return took();
}

/** @param {import("../support/scenario.mjs").Scenario} s */
async function tapBare(s) {
  const bare = await barePage(s);
  await bare.slowDown();
  await prepare(bare.page);
  await bare.page.evaluate((text) => {
    const begin = () => /** @type {any} */ (globalThis)["begin"]().write(text);
    document.querySelector("#key")?.addEventListener("click", begin);
  }, LINES.join("\r\n"));
  const took = await started(bare.page, "untilShown", "pointerup", LAST);
  await bare.page.locator("#key").tap();
  const milliseconds = await took();
  await bare.end();
  return milliseconds;
}

/**
 * Runs in the page: resolves once it has come to rest after its load: the terminal's code was fetched and the browser
 * found nothing else to do.
 */
async function quiet() {
  const isThere = () => performance.getEntriesByType("resource").some(({ name }) => /\/assets\/controls-.*\.js$/.test(name));
  while (!isThere()) await new Promise(requestAnimationFrame);
  await new Promise((resolve) => requestIdleCallback(resolve));
}

const ROUNDS = 9;
const LAST = "this is the last line of 24";
const LINES = [...Array(23).keys()].map((line) => `${line} the quick brown fox jumps over the lazy dog`).concat(LAST);
