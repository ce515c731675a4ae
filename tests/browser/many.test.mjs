import assert from "node:assert/strict";
import { Attachment } from "./support/attachment.mjs";
import { DESKTOP } from "./support/browser.mjs";
import { pairByOffer } from "./support/pairing.mjs";
import { scenario } from "./support/scenario.mjs";

/** @typedef {import("./support/scenario.mjs").Scenario} Scenario */
/** @typedef {import("./support/device.mjs").Device} Device */

/** More sessions than a daemon takes by itself. */
const MANY = { config: "[sessions]\nmax = 256\nscrollback_disk = \"4MiB\"\n" };

scenario("of two hundred sessions one that changes draws its own row alone, and all are searched and grouped", async (s) => {
  const chatty = await startMany(s, 200);
  const phone = await s.open();
  await phone.page.addInitScript(countRows);
  await pairByOffer(phone, s.daemon, "operator", "Phone");
  await phone.page.locator(".session").nth(199).waitFor({ state: "attached" });
  const owner = await Attachment.ofOwner(s.daemon, chatty.id, "mode=write&from=screen");
  const before = await phone.page.evaluate(() => /** @type {any} */ (globalThis).rowsDrawn);
  for (let at = 1; at <= 20; at += 1) {
    owner.type(at, `line-${at}\r`);
    await phone.row("job-100").getByText(`said line-${at}`, { exact: true }).waitFor({ state: "attached" });
  }
  // All rows each time would be 4,000; the others' own news, such as that they are idle, come in between.
  assert.ok((await phone.page.evaluate(() => /** @type {any} */ (globalThis).rowsDrawn)) - before < 2_000);

  const search = phone.page.getByRole("searchbox", { name: "Find a session" });
  await search.fill("PROJECT=web job-10");
  await phone.row("job-10").waitFor();
  // Of job-10 and job-100 to job-109 those whose number leaves 1 when divided by three.
  assert.deepEqual((await names(phone)).sort(), ["job-10", "job-100", "job-103", "job-106", "job-109"]);
  await search.fill("nothing like it");
  await phone.page.getByText("No session has “nothing like it”.").waitFor();
  await search.fill("");
  await phone.page.getByRole("combobox", { name: "Group" }).selectOption("project");
  await phone.page.getByRole("heading", { name: "api" }).waitFor();
  assert.deepEqual(await titles(phone), ["api 67", "docs 66", "web 67"]);
  await phone.page.reload();
  await phone.page.getByRole("heading", { name: "api" }).waitFor();
}, MANY);

scenario("rows stand still below a pointer, and what waits comes first once that is gone", async (s) => {
  const asks = await s.daemon.session("asks", "read line; printf '\\033]9;May I?\\a'; read line");
  await s.daemon.session("other", "read line");
  const laptop = await s.paired({ profile: DESKTOP });
  await laptop.row("other").waitFor();
  assert.deepEqual(await names(laptop), ["other", "asks"]);
  await laptop.row("other").hover();
  const owner = await Attachment.ofOwner(s.daemon, asks.id, "mode=write&from=screen");
  owner.type(1, "\r");
  await laptop.row("asks").getByText("waiting for you").waitFor();
  assert.deepEqual(await names(laptop), ["other", "asks"]);
  await laptop.page.mouse.move(0, 0);
  await laptop.page.locator(".sessions li").first().getByText("May I?", { exact: true }).waitFor();
  assert.deepEqual(await names(laptop), ["asks", "other"]);
});

scenario("a session that is deleted below a pointer leaves its place until that is gone", async (s) => {
  for (const name of ["first", "second", "third"]) await s.daemon.session(name, "read line");
  const laptop = await s.paired({ profile: DESKTOP });
  await laptop.row("first").waitFor();
  await laptop.row("third").hover();
  const before = await laptop.row("first").boundingBox();
  await s.daemon.json("rm", "second");
  await laptop.row("second").getByText("deleted", { exact: true }).waitFor();
  assert.deepEqual(await laptop.row("first").boundingBox(), before);
  await laptop.page.mouse.move(0, 0);
  await laptop.row("second").waitFor({ state: "detached" });
});

scenario("rows stand still below a finger that scrolls, and a tap opens the row that was tapped", async (s) => {
  const asks = await s.daemon.session("asks", "read line; printf '\\033]9;May I?\\a'; read line");
  await s.daemon.session("other", "read line");
  const phone = await s.paired();
  await phone.row("other").waitFor();
  const devtools = await phone.page.context().newCDPSession(phone.page);
  const box = await phone.row("other").boundingBox();
  assert.ok(box);
  const finger = { x: box.x + 40, y: box.y + 20 };
  await devtools.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [finger] });
  await phone.page.locator('.groups[data-held="true"]').waitFor();
  for (let by = 1; by <= 6; by += 1) await devtools.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: [{ x: finger.x, y: finger.y + by * 10 }] });
  const owner = await Attachment.ofOwner(s.daemon, asks.id, "mode=write&from=screen");
  owner.type(1, "\r");
  await phone.row("asks").getByText("waiting for you").waitFor();
  assert.deepEqual(await names(phone), ["other", "asks"]);
  await devtools.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  await phone.page.locator(".sessions li").first().getByText("May I?", { exact: true }).waitFor();
  await phone.row("other").tap();
  await phone.page.waitForURL(/\/s\/ses_/);
  await phone.page.getByRole("heading", { name: "other" }).waitFor();
});

/**
 * Starts sessions job-0, job-1 and so on, each with a label; one of them, which is returned, says what it is told.
 * @param {Scenario} s
 * @param {number} count
 */
async function startMany(s, count) {
  const start = (/** @type {number} */ at) =>
    s.daemon.api("POST", "/v1/sessions", { command: "sh", args: ["-c", at === 100 ? SAYS : "read line"], name: `job-${at}`, labels: { project: PROJECTS[at % 3] } });
  for (let at = 0; at < count; at += 10) await Promise.all(Array.from({ length: 10 }, (_, further) => start(at + further)));
  const all = await s.daemon.api("GET", "/v1/sessions");
  return all.find((/** @type {{ name: string }} */ { name }) => name === "job-100");
}

/** In the page: counts the rows that are drawn, each of which asks for the time; the passing of time alone draws none of them. */
function countRows() {
  const page = /** @type {any} */ (globalThis);
  page.rowsDrawn = 0;
  const now = Date.now.bind(Date);
  Date.now = () => {
    page.rowsDrawn += 1;
    return now();
  };
  const every = page.setInterval.bind(page);
  page.setInterval = (/** @type {() => void} */ act, /** @type {number} */ delay) => (delay === 15_000 ? 0 : every(act, delay));
}

/** @param {Device} device @returns {Promise<string[]>} */
function names(device) {
  return device.page.locator(".session-name").allTextContents();
}

/** @param {Device} device */
function titles(device) {
  return device.page.locator(".group-title").allTextContents();
}

const PROJECTS = ["api", "web", "docs"];
const SAYS = "while read -r line; do echo said $line; done";
