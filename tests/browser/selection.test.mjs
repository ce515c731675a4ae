import assert from "node:assert/strict";
import { DESKTOP, PHONE } from "./support/browser.mjs";
import { scenario } from "./support/scenario.mjs";

/** Prints a line that stays, and then counts below it in place. */
const COUNTS = "printf 'see /etc/hosts now\\r\\n'; exec bash -c 'while :; do printf \"\\rcount-%d\" $((++i)); read -t 0.02; done'";

for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
  scenario(`a held finger takes a word on a ${colorScheme} phone, the view stands still, and what was printed comes back`, async (s) => {
    await s.daemon.session("counts", COUNTS);
    const { device, terminal } = await s.watching("counts", { profile: { ...PHONE, colorScheme } });
    await device.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await terminal.shows(/count-\d/);
    const finger = await Finger.of(device.page);
    const word = await placeOf(terminal, "/etc/hosts");
    await finger.down(word.x, word.y);
    await device.page.locator(".handle-to").waitFor();
    await finger.move(word.right - 2, word.y);
    await finger.up();
    const still = (await terminal.text()).join("\n");
    await s.picture(device, `selection-phone-${colorScheme}`);
    await device.page.getByRole("button", { name: "Copy" }).tap();
    await device.page.getByText("Copied.").waitFor();
    await s.picture(device, `copied-phone-${colorScheme}`);
    assert.equal(await device.page.evaluate(() => navigator.clipboard.readText()), "/etc/hosts");
    const before = Number(/count-(\d+)/.exec(still)?.[1]);
    while (Number(/count-(\d+)/.exec((await terminal.text()).join("\n"))?.[1]) <= before) await device.page.evaluate(() => new Promise(requestAnimationFrame));
  });
}

scenario("a handle moves the end of what is selected, and back to live lets go of it", async (s) => {
  await s.daemon.session("counts", COUNTS);
  const { device, terminal } = await s.watching("counts");
  await device.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await terminal.shows(/count-\d/);
  const finger = await Finger.of(device.page);
  const word = await placeOf(terminal, "see");
  await finger.down(word.x, word.y);
  const handle = device.page.locator(".handle-to");
  await handle.waitFor();
  await finger.up();
  const box = await handle.boundingBox();
  assert.ok(box);
  const target = await placeOf(terminal, "hosts");
  await finger.down(box.x + box.width / 2, box.y + 22);
  await finger.move(target.right - 3, target.y + 28);
  await finger.up();
  await device.page.getByRole("button", { name: "Copy" }).tap();
  await device.page.getByText("Copied.").waitFor();
  assert.equal(await device.page.evaluate(() => navigator.clipboard.readText()), "see /etc/hosts");

  await finger.down(word.x, word.y);
  await handle.waitFor();
  await finger.up();
  await device.page.getByRole("button", { name: "Back to live" }).tap();
  await handle.waitFor({ state: "hidden" });
  await device.page.getByRole("button", { name: "Back to live" }).waitFor({ state: "hidden" });
});

scenario("with a mouse what is selected stands still too, and Ctrl+C copies it instead of interrupting", async (s) => {
  await s.daemon.session("counts", COUNTS);
  const { device, terminal } = await s.watching("counts", { profile: DESKTOP });
  await device.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await terminal.shows(/count-\d/);
  const word = await placeOf(terminal, "/etc/hosts");
  await device.page.mouse.dblclick(word.x, word.y);
  await device.page.getByRole("button", { name: "Back to live" }).waitFor();
  const still = await terminal.text();
  await device.page.keyboard.press("Control+c");
  await device.page.getByText("Copied.").waitFor();
  assert.match(await device.page.evaluate(() => navigator.clipboard.readText()), /etc/);
  await terminal.shows(/count-\d/);
  await device.page.evaluate(() => new Promise(requestAnimationFrame));
  while ((await terminal.text()).join() === still.join()) await device.page.evaluate(() => new Promise(requestAnimationFrame));
});

/**
 * Where a text is drawn.
 * @param {import("./support/terminal.mjs").Terminal} terminal
 * @param {string} text
 */
async function placeOf(terminal, text) {
  const place = await terminal.rows.filter({ hasText: text }).first().evaluate(measure, text);
  return { ...place, x: (place.left + place.right) / 2, y: (place.top + place.bottom) / 2 };
}

/** Runs in the page. @param {HTMLElement | SVGElement} row @param {string} text */
function measure(row, text) {
  const range = document.createRange();
  const texts = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const at = node.textContent?.indexOf(text) ?? -1;
    if (at < 0) continue;
    range.setStart(node, at);
    range.setEnd(node, at + text.length);
  }
  const { left, right, top, bottom } = range.getBoundingClientRect();
  return { left, right, top, bottom };
}

/** One finger on the screen. */
class Finger {
  /** @param {import("playwright-core").CDPSession} devtools */
  constructor(devtools) {
    this.devtools = devtools;
  }

  /** @param {import("playwright-core").Page} page */
  static async of(page) {
    return new Finger(await page.context().newCDPSession(page));
  }

  /** @param {number} x @param {number} y */
  down(x, y) {
    return this.devtools.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [{ x, y }] });
  }

  /** @param {number} x @param {number} y */
  move(x, y) {
    return this.devtools.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: [{ x, y }] });
  }

  up() {
    return this.devtools.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  }
}
