import assert from "node:assert/strict";
import { DESKTOP, PHONE } from "./support/browser.mjs";
import { shellAfter } from "./support/daemon.mjs";
import { scenario } from "./support/scenario.mjs";

scenario("a pinch changes the letters once, at its end, and for good", async (s) => {
  await s.daemon.session("shell", shellAfter("letters\\r\\n"), { columns: 120, rows: 30 });
  const { device, terminal } = await s.watching("shell");
  await terminal.shows("letters");
  const letters = () => device.page.locator(".host > .xterm .xterm-rows").evaluate((rows) => Number.parseFloat(getComputedStyle(rows).fontSize));
  const before = await letters();
  const devtools = await device.page.context().newCDPSession(device.page);
  const touch = (/** @type {"touchStart" | "touchMove" | "touchEnd"} */ type, /** @type {number[]} */ ...ys) =>
    devtools.send("Input.dispatchTouchEvent", { type, touchPoints: ys.map((y, id) => ({ x: 100, y, id })) });
  await touch("touchStart", 150, 200);
  await touch("touchMove", 130, 220);
  await touch("touchMove", 125, 225);
  await device.page.evaluate(() => new Promise(requestAnimationFrame));
  assert.equal(await letters(), before, "the letters wait for the end");
  assert.match(await device.page.locator(".host").evaluate((host) => host.style.transform), /scale\(2/);
  await touch("touchEnd");
  await device.page.getByRole("button", { name: "Fit all columns" }).waitFor();
  assert.equal(await letters(), before * 2);
  assert.equal(await device.page.locator(".host").evaluate((host) => host.style.transform), "");
  await device.page.reload();
  await terminal.shows("letters");
  assert.equal(await letters(), before * 2);
  assert.deepEqual((await s.daemon.api("GET", "/v1/sessions"))[0].size, { columns: 120, rows: 30 });
});

const COPIES = "read line; printf '\\033]52;c;Y29waWVk\\007\\033]52;c;?\\007said'; exec cat -v";

scenario("what a program puts into the clipboard is there for who may type, who is told, and for nobody else", async (s) => {
  await s.daemon.session("copies", COPIES);
  const viewer = await s.watching("copies", { role: "viewer", label: "Viewer", profile: DESKTOP });
  const { device, terminal } = await s.watching("copies");
  for (const { page } of [viewer.device, device]) await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await device.page.bringToFront();
  await device.page.evaluate(() => navigator.clipboard.writeText("before"));
  await terminal.compose("");
  await terminal.shows("said");
  await device.page.getByText("The program put text into the clipboard.").waitFor();
  await s.picture(device, "clipboard-phone");
  assert.equal(await device.page.evaluate(() => navigator.clipboard.readText()), "copied");
  await viewer.terminal.shows("said");
  assert.equal(await viewer.device.page.getByText(/clipboard/).count(), 0);
  await terminal.compose("answer");
  await terminal.shows(/^saidanswer$/);
});

scenario("where the browser wants a tap before it takes a program's text, there is one", async (s) => {
  await s.daemon.session("copies", COPIES);
  const { device, terminal } = await s.watching("copies", { profile: { ...PHONE, colorScheme: "dark" } });
  await terminal.shows("");
  await device.page.evaluate(() => {
    const write = navigator.clipboard.writeText.bind(navigator.clipboard);
    navigator.clipboard.writeText = () => {
      navigator.clipboard.writeText = write;
      return Promise.reject(new DOMException("a gesture is needed", "NotAllowedError"));
    };
  });
  await device.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await terminal.compose("");
  await device.page.getByText("The program has text for the clipboard.").waitFor();
  await s.picture(device, "clipboard-offer-phone");
  await device.page.getByRole("button", { name: "Copy" }).tap();
  await device.page.getByText("Copied.").waitFor();
  assert.equal(await device.page.evaluate(() => navigator.clipboard.readText()), "copied");
});

scenario("a link opens by a tap, in a page that knows nothing of this one, and only over the web", async (s) => {
  await s.daemon.session("links", shellAfter("javascript:alert(1)\\r\\nfile:///etc/passwd\\r\\nhttps://a.invalid/x\\r\\n"));
  const { device, terminal } = await s.watching("links");
  await terminal.shows("https://a.invalid/x");
  await device.page.evaluate(() => {
    Object.assign(globalThis, { opened: [] });
    window.open = (...words) => (globalThis["opened"].push(words), null);
  });
  for (const text of ["javascript:alert", "file:///etc", "https://a.invalid"]) {
    const row = await terminal.rows.filter({ hasText: text }).boundingBox();
    assert.ok(row);
    await device.page.touchscreen.tap(row.x + 24, row.y + row.height / 2);
  }
  while ((await device.page.evaluate("opened.length")) === 0) await device.page.evaluate(() => new Promise(requestAnimationFrame));
  assert.deepEqual(await device.page.evaluate("opened"), [["https://a.invalid/x", "_blank", "noopener,noreferrer"]]);
});
