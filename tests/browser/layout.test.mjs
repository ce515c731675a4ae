import assert from "node:assert/strict";
import { PHONE } from "./support/browser.mjs";
import { shellAfter } from "./support/daemon.mjs";
import { askToPair, offer } from "./support/pairing.mjs";
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
