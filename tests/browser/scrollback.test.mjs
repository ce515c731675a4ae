import assert from "node:assert/strict";
import { DESKTOP } from "./support/browser.mjs";
import { shellAfter } from "./support/daemon.mjs";
import { Finger } from "./support/finger.mjs";
import { scenario } from "./support/scenario.mjs";

scenario("scrolling up reads earlier lines, each once, while the program prints on", async (s) => {
  await s.daemon.session("counter", COUNTER);
  const { device, terminal } = await s.watching("counter", { profile: DESKTOP });
  await reaches(terminal, 400);
  const before = screensAsked(device);
  assert.equal(before, 0, "the attach asked for scrollback");

  await terminal.wheel(-400);
  await device.page.getByRole("button", { name: "Back to live" }).waitFor();
  let seen = numbers(await terminal.backText());
  assertConsecutive(seen);
  const held = seen.at(-1) ?? 0;
  await reaches(terminal, held + 60);
  assert.deepEqual(numbers(await terminal.backText()), seen, "the lines stand still");

  while ((seen[0] ?? 0) > 1) {
    await device.page.keyboard.press("Shift+PageUp");
    await frame(terminal);
    seen = numbers(await terminal.backText());
    assertConsecutive(seen);
  }
  assert.ok(screensAsked(device) > 1);
  await device.page.getByRole("button", { name: "Back to live" }).click();
  await terminal.back.first().waitFor({ state: "detached" });
});

scenario("scrolling down again leads to the live screen without a gap", async (s) => {
  await s.daemon.session("counter", SLOW_COUNTER);
  const { device, terminal } = await s.watching("counter", { profile: DESKTOP });
  await reaches(terminal, 110);
  for (let pages = 0; pages < 3; pages += 1) await device.page.keyboard.press("Shift+PageUp");
  await terminal.back.first().waitFor();
  await reaches(terminal, 200);
  for (let rows = await terminal.backText(); rows.length > 0; rows = await terminal.backText()) {
    assertConsecutive(numbers(rows));
    await device.page.keyboard.press("Shift+PageDown");
    await frame(terminal);
  }
  await device.page.getByRole("button", { name: "Back to live" }).waitFor({ state: "detached" });
  assertConsecutive(numbers(await terminal.text()));
});

scenario("typing leads back to the live screen, and a full-screen program keeps its wheel", async (s) => {
  await s.daemon.session("shell", shellAfter(""));
  const { terminal } = await s.watching("shell", { profile: DESKTOP });
  await terminal.type("seq 1 200");
  await terminal.shows(/^200$/);
  await terminal.wheel(-300);
  await terminal.back.first().waitFor();
  await terminal.type("echo typed-$((1+1))");
  await terminal.back.first().waitFor({ state: "detached" });
  await terminal.shows("typed-2");
  await terminal.type("printf '\\033[?1049hwhole-screen'; IFS= read -rsn3 keys; printf '\\033[?1049l'; echo \"got ${keys#?}\"");
  await terminal.shows("whole-screen");
  await terminal.wheel(-120);
  await terminal.shows("got [A");
  assert.equal(await terminal.back.count(), 0);
});

scenario("a finger scrolls for as long as it moves, though every row below it is drawn anew, and back to the live screen", async (s) => {
  await s.daemon.session("counted", "seq 1000; read line");
  const { device, terminal } = await s.watching("counted");
  await terminal.shows(/^1000$/);
  const finger = await Finger.of(device.page);
  await finger.swipe(200, 150, 600);
  await terminal.back.first().waitFor();
  // Fifty rows of nine pixels each, but for parts of a row.
  await terminal.back.filter({ hasText: /^930$/ }).waitFor();
  const [top = 0] = numbers(await terminal.backText());
  assert.ok(top > 915 && top <= 930, `it went to ${top}`);
  await s.picture(device, "scrolled-back-phone");
  while ((await terminal.back.count()) > 0) await finger.swipe(200, 600, 150);
  await terminal.shows(/^1000$/);
});

/**
 * Waits until the live screen shows a number, or a later one.
 * @param {import("./support/terminal.mjs").Terminal} terminal
 * @param {number} number
 */
async function reaches(terminal, number) {
  while ((numbers(await terminal.text()).at(-1) ?? 0) < number) await frame(terminal);
}

/** @param {string[]} rows */
function numbers(rows) {
  return rows.filter((row) => /^\d+$/.test(row)).map(Number);
}

/** @param {number[]} seen */
function assertConsecutive(seen) {
  assert.ok(seen.length > 1, "there are numbers");
  assert.deepEqual(seen, seen.map((_, at) => (seen[0] ?? 0) + at));
}

/** @param {import("./support/terminal.mjs").Terminal} terminal */
function frame(terminal) {
  return terminal.page.evaluate(() => new Promise(requestAnimationFrame));
}

/** @param {import("./support/device.mjs").Device} device */
function screensAsked(device) {
  return device.requests.filter(({ url }) => new URL(url).pathname.endsWith("/screen")).length;
}

/** Prints 1, 2, 3 and so on, two hundred a second. */
const COUNTER = "exec bash -c 'while :; do echo $((++i)); read -t 0.005; done'";
/** The same, slowly enough to be caught up with a page at a time. */
const SLOW_COUNTER = COUNTER.replace("0.005", "0.05");
