import assert from "node:assert/strict";
import { Attachment } from "./support/attachment.mjs";
import { DESKTOP, PHONE } from "./support/browser.mjs";
import { Finger } from "./support/finger.mjs";
import { scenario } from "./support/scenario.mjs";

/** Prints a line that stays, and then counts below it in place. */
const COUNTS = "printf 'see /etc/hosts now\\r\\n'; exec bash -c 'while :; do printf \"\\rcount-%d\" $((++i)); read -t 0.02; done'";

/** Prints 300 lines, and others once it is told to. */
const PRINTS = "seq -f 'line-%g' 300; read line; exec bash -c 'while :; do echo tick-$((++n)); read -t 0.02; done'";

for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
  scenario(`a held finger takes a word on a ${colorScheme} phone, the view stands still, and what was printed comes back`, async (s) => {
    const session = await s.daemon.session("counts", COUNTS);
    const { device, terminal } = await s.watching("counts", { profile: { ...PHONE, colorScheme } });
    await device.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await terminal.shows(/count-\d/);
    const finger = await Finger.of(device.page);
    const word = await placeOf(terminal, "/etc/hosts");
    await finger.down(word.x, word.y);
    await device.page.locator('[data-end="to"]').waitFor();
    await finger.move(word.right - 2, word.y);
    await finger.up();
    const still = await terminal.text();
    await countsOn(s.daemon, session.id);
    assert.deepEqual(await terminal.text(), still, "the view stands still");
    await s.picture(device, `selection-phone-${colorScheme}`);
    await device.page.getByRole("button", { name: "Copy" }).tap();
    await device.page.getByText("Copied.").waitFor();
    await s.picture(device, `copied-phone-${colorScheme}`);
    assert.equal(await device.page.evaluate(() => navigator.clipboard.readText()), "/etc/hosts");
    await hasMoved(terminal, still);
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
  const handle = device.page.locator('[data-end="to"]');
  await handle.waitFor();
  await finger.up();
  const box = await handle.boundingBox();
  assert.ok(box);
  const target = await placeOf(terminal, "hosts");
  await finger.down(box.x + box.width / 2, box.y + 22);
  // As far from the end as the finger was put.
  await finger.move(target.right + box.width / 4, target.y + 28);
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
  const session = await s.daemon.session("counts", COUNTS);
  const { device, terminal } = await s.watching("counts", { profile: DESKTOP });
  await device.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await terminal.shows(/count-\d/);
  const word = await placeOf(terminal, "/etc/hosts");
  await device.page.mouse.dblclick(word.x, word.y);
  await device.page.getByRole("button", { name: "Back to live" }).waitFor();
  const still = await terminal.text();
  await countsOn(s.daemon, session.id);
  assert.deepEqual(await terminal.text(), still, "the view stands still");
  await device.page.keyboard.press("Control+c");
  await device.page.getByText("Copied.").waitFor();
  assert.match(await device.page.evaluate(() => navigator.clipboard.readText()), /etc/);
  await hasMoved(terminal, still);
});

scenario("a handle at the upper edge goes on into earlier lines, while the program prints on", async (s) => {
  const { device, terminal, finger, printsOn } = await selected(s);
  await printsOn();
  const handle = await device.page.locator('[data-end="from"]').boundingBox();
  const view = await device.page.locator(".scroller").boundingBox();
  assert.ok(handle && view);
  const x = handle.x + handle.width / 2;
  await finger.down(x, handle.y + 22);
  await finger.move(x, view.y + 40);
  await finger.move(x, view.y + 26);
  await terminal.back.filter({ hasText: /^line-250$/ }).waitFor();
  await s.picture(device, "selection-edge-phone");
  await finger.up();
  const lines = (await copied(device)).split("\n");
  assert.equal(lines.at(-1), "line-290");
  assert.ok(lines.length > 40, `${lines.length} lines`);
  assert.deepEqual(lines, lines.map((_, at) => `line-${291 - lines.length + at}`));
});

scenario("beside the handles a finger scrolls, and what is selected stays so, however many lines come", async (s) => {
  const { device, terminal, finger, printsOn } = await selected(s);
  await printsOn();
  await finger.swipe(250, 200, 270);
  await terminal.back.first().waitFor();
  await device.page.locator('.pane [data-end="to"]:not(.out-of-view)').waitFor();
  await s.picture(device, "selection-scrolled-phone");
  const top = async () => Number(/\d+/.exec((await terminal.backText())[0] ?? "")?.[0]);
  while ((await top()) > 90) await finger.swipe(250, 150, 550);
  await device.page.getByRole("button", { name: "Copy" }).waitFor();
  assert.equal(await copied(device), "line-290");
});

scenario("what a program has written over meanwhile is not scrolled away from below a person’s eyes", async (s) => {
  await s.daemon.session("rewrites", "seq -f 'line-%g' 100; exec bash -c 'while :; do printf \"\\rcount-%d\" $((++i)); read -t 0.02; done'");
  const { device, terminal } = await s.watching("rewrites");
  await device.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await terminal.shows(/count-\d/);
  const finger = await Finger.of(device.page);
  await hold(finger, device, await placeOf(terminal, "count-"));
  await finger.swipe(250, 200, 420);
  await device.page.getByText("The program has written over what is selected").waitFor();
  assert.equal(await terminal.back.count(), 0);
  assert.match(await copied(device), /^count-\d+$/);
});

/**
 * A phone on which a finger has taken a word, "line-290", of a program that prints on when it is told to.
 * @param {import("./support/scenario.mjs").Scenario} s
 */
async function selected(s) {
  const session = await s.daemon.session("prints", PRINTS);
  const { device, terminal } = await s.watching("prints");
  await device.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await terminal.shows("line-300");
  const finger = await Finger.of(device.page);
  await hold(finger, device, await placeOf(terminal, "line-290"));
  const printsOn = async () => {
    const owner = await Attachment.ofOwner(s.daemon, session.id, "mode=write&from=screen");
    owner.type(1, "\r");
    await owner.until(() => owner.output.includes("tick-40"));
    owner.close();
  };
  return { device, terminal, finger, printsOn };
}

/** @param {Finger} finger @param {import("./support/device.mjs").Device} device @param {{ x: number, y: number }} place */
async function hold(finger, device, { x, y }) {
  await finger.down(x, y);
  await device.page.locator('[data-end="to"]').first().waitFor();
  await finger.up();
}

/** What "Copy" puts into the clipboard. @param {import("./support/device.mjs").Device} device */
async function copied(device) {
  await device.page.getByRole("button", { name: "Copy" }).tap();
  await device.page.getByText("Copied.").waitFor();
  return device.page.evaluate(() => navigator.clipboard.readText());
}

/** Resolves once a program has counted on, whoever looks. @param {import("./support/daemon.mjs").Daemon} daemon @param {string} session */
async function countsOn(daemon, session) {
  const owner = await Attachment.ofOwner(daemon, session, "mode=view&from=screen");
  const count = () => Number(/.*count-(\d+)/s.exec(owner.output)?.[1] ?? 0);
  await owner.until(() => count() > 0);
  const before = count();
  await owner.until(() => count() > before + 20);
  owner.close();
}

/** Waits until the counted number is not the one that stood still. @param {import("./support/terminal.mjs").Terminal} terminal @param {string[]} still */
function hasMoved(terminal, still) {
  const [stood = "count-"] = /count-\d+/.exec(still.join("\n")) ?? [];
  return terminal.rows.filter({ hasText: /count-\d/ }).filter({ hasNotText: stood }).first().waitFor();
}

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
