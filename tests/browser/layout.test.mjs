import assert from "node:assert/strict";
import { DESKTOP, PHONE } from "./support/browser.mjs";
import { shellAfter } from "./support/daemon.mjs";
import { Desk } from "./support/desk.mjs";
import { askToPair, offer, pairByOffer } from "./support/pairing.mjs";
import { scenario } from "./support/scenario.mjs";

/** The smallest phone, a large one, and each of them turned. */
const SIZES = [
  { width: 360, height: 640 },
  { width: 434, height: 965 },
  { width: 640, height: 360 },
  { width: 965, height: 434 },
];
/** What an on-screen keyboard leaves of them. */
const WITH_KEYBOARD = [
  { width: 360, height: 340 },
  { width: 434, height: 560 },
];

scenario("every control of the terminal is on the screen and large enough for a finger, keyboard open or not", async (s) => {
  await s.daemon.session("a-session-with-quite-a-long-name-for-a-phone", shellAfter(""), { columns: 160, rows: 40 });
  const { device, terminal } = await s.watching("a-session-with-quite-a-long-name-for-a-phone");
  for (const size of [...SIZES, ...WITH_KEYBOARD]) {
    await device.page.setViewportSize(size);
    await assertInReach(device, size);
    await terminal.compose(`echo at-$((${size.width}+${size.height}))`);
    await terminal.shows(`at-${size.width + size.height}`);
  }
});

scenario("a bar of two rows and the search are on the screen too, keyboard open or not", async (s) => {
  await s.daemon.session("shell", shellAfter("needle\\r\\n"), { columns: 160, rows: 40 });
  const { device, terminal } = await s.watching("shell");
  const keys = ["Escape", "Tab", "shift-tab", "ctrl", "alt", "ArrowLeft", "ArrowDown", "ArrowUp", "ArrowRight", "paste", "Home", "End", "PageUp", "PageDown", "F1", "|"];
  await device.page.evaluate((ids) => localStorage.setItem("transom.keys", JSON.stringify(ids)), keys);
  await device.page.reload();
  await terminal.shows("needle");
  await device.page.getByRole("button", { name: "Actions" }).tap();
  await device.page.getByRole("button", { name: "Find" }).tap();
  await device.page.getByRole("searchbox", { name: "Find" }).waitFor();
  for (const size of [...SIZES.slice(0, 2), ...WITH_KEYBOARD]) {
    await device.page.setViewportSize(size);
    await assertInReach(device, size);
    const stage = await device.page.locator(".scroller").boundingBox();
    assert.ok(stage && stage.height >= 80, `no room is left at ${size.width}×${size.height}`);
  }
});

scenario("an on-screen keyboard below stacked tiles takes its part of each, and changes no letters", async (s) => {
  for (const name of ["alpha", "beta", "gamma"]) await s.daemon.session(name, shellAfter(`this is ${name}\\r\\n`));
  const device = await s.open(DESKTOP);
  await device.page.addInitScript(withKeyboard);
  await pairByOffer(device, s.daemon, "operator", "Tablet");
  const desk = new Desk(device);
  await desk.find("alpha", "Enter");
  await desk.shows("alpha", "this is alpha");
  await desk.find("beta", "Control+Enter");
  await desk.shows("beta", "this is beta");
  await desk.find("gamma", "Shift+Enter");
  await desk.shows("gamma", "this is gamma");
  const before = await device.page.evaluate(drawnTiles);
  await device.page.evaluate(() => /** @type {any} */ (window).openKeyboard(300));
  await device.page.evaluate(laidOut, DESKTOP.viewport.height - 300);
  const after = await device.page.evaluate(drawnTiles);
  assert.deepEqual(after.map(({ height }) => Math.round(height)), before.map(({ height }) => Math.round(height) - 150));
  assert.deepEqual(after.map(({ letters }) => letters), before.map(({ letters }) => letters));
});

scenario("every control of the list is on the screen and large enough for a finger", async (s) => {
  for (const name of ["one", "two", "three"]) await s.daemon.session(name, shellAfter("hello\\r\\n"));
  const phone = await s.paired({ label: "A device with a name that is as long as names of devices may be" });
  await phone.row("three").waitFor();
  for (const size of SIZES.slice(0, 2)) {
    await phone.page.setViewportSize(size);
    await assertInReach(phone, size);
  }
});

scenario("every control of pairing is on the first screen of a small phone", async (s) => {
  const [small] = SIZES;
  assert.ok(small);
  const phone = await s.open({ ...PHONE, viewport: small });
  await phone.goto(await offer(s.daemon));
  await phone.page.getByRole("button", { name: "Pair this device" }).waitFor();
  await assertInReach(phone, small);
  await askToPair(phone, await offer(s.daemon), "Phone");
  const code = await phone.page.getByLabel("Pairing code").boundingBox();
  assert.ok(code && code.y + code.height <= small.height);
  await assertInReach(phone, small);
});

/**
 * @param {import("./support/device.mjs").Device} device
 * @param {{ width: number, height: number }} size
 */
async function assertInReach(device, size) {
  // The page lays itself out anew once it hears of its new size.
  await device.page.evaluate(filled, size);
  const controls = await device.page.evaluate(measureControls);
  const where = `at ${size.width}×${size.height}`;
  for (const { name, left, top, right, bottom } of controls) {
    assert.ok(left >= 0 && top >= 0 && right <= size.width && bottom <= size.height, `${name} is off the screen ${where}`);
    assert.ok(right - left >= 43.9 && bottom - top >= 43.9, `${name} is too small for a finger ${where}`);
  }
  const wider = await device.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(wider, 0, `the page is wider than the screen ${where}`);
}

/**
 * Runs in the page: resolves once the screen has taken the page's new size.
 * @param {{ width: number, height: number }} size
 */
async function filled({ width, height }) {
  for (;;) {
    const isFixed = document.querySelector(".terminal-page") !== null;
    const drawn = document.querySelector(".terminal-page, .page, .message")?.getBoundingClientRect();
    const fits = drawn !== undefined && drawn.width <= width;
    if (fits && (isFixed ? drawn.height === height : drawn.height >= height)) return;
    await new Promise(requestAnimationFrame);
  }
}

/** Runs in the page: everything that can be pressed or typed into, but the widget's own hidden field. */
function measureControls() {
  const controls = [...document.querySelectorAll("a, button, input, textarea")];
  return controls
    .filter((node) => !node.closest(".xterm") && node.checkVisibility())
    .map((node) => {
      const { left, top, right, bottom } = node.getBoundingClientRect();
      return { name: node.getAttribute("aria-label") ?? node.textContent ?? node.id, left, top, right, bottom };
    });
}

/** Before a page's own scripts: a visual viewport as on-screen keyboards leave it, which Chromium has none of. */
function withKeyboard() {
  let keyboard = 0;
  class Viewport extends EventTarget {
    scale = 1;
    offsetTop = 0;
    offsetLeft = 0;
    get height() {
      return innerHeight - keyboard;
    }
    get width() {
      return innerWidth;
    }
  }
  const viewport = new Viewport();
  Object.defineProperty(window, "visualViewport", { value: viewport });
  Object.assign(window, {
    openKeyboard(/** @type {number} */ height) {
      keyboard = height;
      viewport.dispatchEvent(new Event("resize"));
    },
  });
}

/** Runs in the page: each tile's height, and the size of its letters. */
function drawnTiles() {
  return [...document.querySelectorAll(".tile")].map((tile) => {
    const rows = tile.querySelector(".host > .xterm .xterm-rows");
    return { height: tile.getBoundingClientRect().height, letters: rows ? getComputedStyle(rows).fontSize : "" };
  });
}

/** Runs in the page: resolves once it has another height, and all that follows from that was drawn. @param {number} height */
async function laidOut(height) {
  while (document.querySelector(".workspace")?.getBoundingClientRect().height !== height) await new Promise(requestAnimationFrame);
  for (let frames = 0; frames < 3; frames += 1) await new Promise(requestAnimationFrame);
}
