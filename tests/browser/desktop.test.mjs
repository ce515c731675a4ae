import assert from "node:assert/strict";
import { DESKTOP, PHONE } from "./support/browser.mjs";
import { shellAfter } from "./support/daemon.mjs";
import { scenario } from "./support/scenario.mjs";
import { Desk } from "./support/desk.mjs";

scenario("sessions are opened, put side by side, gone to and closed by keyboard alone", async (s) => {
  for (const name of ["alpha", "beta", "gamma"]) await s.daemon.session(name, shellAfter(`this is ${name}\\r\\n`));
  const desk = await Desk.of(s);
  await desk.find("alpha", "Enter");
  await desk.typeInto("alpha", "echo one-$((40 + 2))", "one-42");
  await desk.find("beta", "Shift+Enter");
  await desk.typeInto("beta", "echo two-$((40 + 2))", "two-42");
  await desk.find("gamma", "Control+Enter");
  await desk.typeInto("gamma", "echo three-$((40 + 2))", "three-42");
  assert.deepEqual(await desk.names(), ["alpha", "beta", "gamma"]);

  await desk.go("ArrowUp");
  await desk.typeInto("beta", "echo four-$((40 + 2))", "four-42");
  await desk.go("ArrowLeft");
  await desk.typeInto("alpha", "echo five-$((40 + 2))", "five-42");
  assert.equal(await desk.tile("gamma").getByText("five").count(), 0);
  await desk.find("close this tile", "Enter");
  await desk.hasKeys("beta");
  assert.deepEqual(await desk.names(), ["beta", "gamma"]);
});

scenario("this browser remembers its tiles, and a link shows its session among them", async (s) => {
  for (const name of ["alpha", "beta"]) await s.daemon.session(name, shellAfter(`this is ${name}\\r\\n`));
  const linked = await s.daemon.session("gamma", shellAfter("this is gamma\\r\\n"));
  const desk = await Desk.of(s);
  await desk.find("alpha", "Enter");
  await desk.shows("alpha", "this is alpha");
  await desk.find("beta", "Shift+Enter");
  await desk.shows("beta", "this is beta");

  await desk.device.goto("/");
  await desk.shows("alpha", "this is alpha");
  await desk.shows("beta", "this is beta");
  await desk.device.goto(`/s/${linked.id}`);
  await desk.hasKeys("gamma");
  assert.deepEqual(await desk.names(), ["gamma", "beta"]);
});

scenario("a window that is made narrow shows the session that has the keys, and shows all again when made wide", async (s) => {
  for (const name of ["alpha", "beta"]) await s.daemon.session(name, shellAfter(`this is ${name}\\r\\n`));
  const desk = await Desk.of(s);
  await desk.find("alpha", "Enter");
  await desk.shows("alpha", "this is alpha");
  await desk.find("beta", "Shift+Enter");
  await desk.hasKeys("beta");
  await desk.page.setViewportSize({ width: 700, height: 800 });
  await desk.page.locator("main.terminal-page .xterm-rows").getByText("this is beta").waitFor();
  await desk.page.setViewportSize(DESKTOP.viewport);
  await desk.shows("alpha", "this is alpha");
  await desk.shows("beta", "this is beta");
});

scenario("the shortcut is no key of the program's, and the keys that are stay so", async (s) => {
  await s.daemon.session("keys", "stty -echo -isig -icanon; printf ready; exec cat -v");
  const desk = await Desk.of(s);
  await desk.find("keys", "Enter");
  await desk.shows("keys", "ready");
  await desk.hasKeys("keys");
  await desk.page.keyboard.press("Control+Space");
  await desk.open();
  await desk.page.keyboard.press("Control+Shift+Space");
  await desk.palette.waitFor({ state: "detached" });
  for (const key of ["Control+Shift+ArrowLeft", "Alt+x", "Control+k", "Escape", "Tab"]) await desk.page.keyboard.press(key);
  await desk.page.keyboard.type("|");
  await desk.shows("keys", "ready^@^[[1;6D^[x^K^[ |");
});

scenario("two hundred sessions are gone through, found and opened by keyboard alone", async (s) => {
  for (let number = 1; number <= 200; number += 1) await s.daemon.session(`session-${number}`, `echo output-of-${number}`);
  const desk = await Desk.of(s);
  const rows = desk.page.locator(".sidebar .session");
  await rows.nth(199).waitFor();
  await desk.find("go to the list", "Enter");
  await desk.isFocused(rows.first());
  await desk.page.keyboard.press("ArrowDown");
  await desk.isFocused(rows.nth(1));
  await desk.page.keyboard.press("End");
  await desk.isFocused(rows.last());
  const name = (await rows.last().locator(".session-name").textContent()) ?? "";
  await desk.page.keyboard.press("Enter");
  await desk.shows(name, `output-of-${name.split("-")[1]}`);
  await desk.find("session-137", "Enter");
  await desk.shows("session-137", "output-of-137");
});

scenario("a terminal's menu and buttons, and the line between tiles, are reached and left by keyboard alone", async (s) => {
  for (const name of ["alpha", "beta"]) await s.daemon.session(name, shellAfter(`this is ${name}\\r\\n`));
  const desk = await Desk.of(s);
  await desk.find("alpha", "Enter");
  await desk.hasKeys("alpha");
  await desk.find("beta", "Shift+Enter");
  await desk.hasKeys("beta");
  await desk.find("actions of this session", "Enter");
  const menu = desk.tile("beta").locator(".menu");
  await desk.isFocused(menu.getByRole("button", { name: "Find", exact: true }));
  await desk.page.keyboard.press("Escape");
  await menu.waitFor({ state: "hidden" });

  await desk.find("go to the terminal’s buttons", "Enter");
  await desk.isFocused(desk.tile("beta").locator(".bar button").first());
  const line = desk.page.getByRole("separator");
  await line.focus();
  await desk.page.keyboard.press("ArrowRight");
  assert.equal(await line.getAttribute("aria-valuenow"), "55");
  await desk.find("beta", "Enter");
  await desk.typeInto("beta", "echo still-$((40 + 2))", "still-42");
});

scenario("tiles are split, sized and closed by pointer, too", async (s) => {
  for (const name of ["alpha", "beta"]) await s.daemon.session(name, shellAfter(`this is ${name}\\r\\n`));
  const desk = await Desk.of(s);
  await desk.device.row("alpha").click();
  await desk.hasKeys("alpha");
  await desk.tile("alpha").getByRole("button", { name: "Split right" }).click();
  await desk.palette.getByRole("option", { name: "beta" }).click();
  await desk.hasKeys("beta");
  const line = desk.page.getByRole("separator");
  const box = await line.boundingBox();
  assert.ok(box);
  await desk.page.mouse.move(box.x + box.width / 2, 400);
  await desk.page.mouse.down();
  await desk.page.mouse.move(box.x - 100, 400);
  await desk.page.mouse.up();
  assert.ok(Number(await line.getAttribute("aria-valuenow")) < 45);
  await desk.tile("alpha").locator(".host").click({ position: { x: 40, y: 20 } });
  await desk.hasKeys("alpha");
  await desk.tile("alpha").getByRole("button", { name: "Close this tile" }).click();
  await desk.hasKeys("beta");
  assert.deepEqual(await desk.names(), ["beta"]);
});

scenario("two windows of one browser have tiles of their own, and a new one begins with what was changed last", async (s) => {
  for (const name of ["alpha", "beta", "gamma"]) await s.daemon.session(name, shellAfter(`this is ${name}\\r\\n`));
  const first = await Desk.of(s);
  await first.find("alpha", "Enter");
  await first.shows("alpha", "this is alpha");
  await first.find("beta", "Shift+Enter");
  await first.shows("beta", "this is beta");
  const second = await first.another();
  await second.shows("alpha", "this is alpha");
  await second.shows("beta", "this is beta");
  await second.find("gamma", "Enter");
  await second.shows("gamma", "this is gamma");
  await second.find("close this tile", "Enter");
  assert.deepEqual(await second.names(), ["beta"]);

  await first.device.goto("/");
  await first.shows("alpha", "this is alpha");
  await first.shows("beta", "this is beta");
  await second.device.goto("/");
  await second.shows("beta", "this is beta");
  assert.deepEqual(await second.names(), ["beta"]);
  await second.find("beta", "Enter");
  await second.hasKeys("beta");
  await second.find("close this tile", "Enter");
  await second.device.goto("/");
  await second.page.getByRole("heading", { name: "Choose a session" }).waitFor();
});

scenario("what is deleted elsewhere leaves the screen, and where the keys are it says so until they are gone", async (s) => {
  for (const name of ["alpha", "beta", "gamma"]) await s.daemon.session(name, shellAfter(`this is ${name}\\r\\n`));
  const desk = await Desk.of(s);
  await desk.find("alpha", "Enter");
  await desk.shows("alpha", "this is alpha");
  await desk.find("beta", "Shift+Enter");
  await desk.hasKeys("beta");
  await s.daemon.json("rm", "alpha");
  await desk.tile("alpha").waitFor({ state: "detached" });
  assert.deepEqual(await desk.names(), ["beta"]);
  await s.daemon.json("rm", "beta");
  await desk.device.message("gone").waitFor();
  await desk.find("gamma", "Shift+Enter");
  await desk.typeInto("gamma", "echo six-$((40 + 2))", "six-42");
  await desk.device.message("gone").waitFor({ state: "detached" });
  assert.equal(await desk.page.locator(".tile").count(), 1);
});

scenario("a device that is revoked forgets its tiles", async (s) => {
  await s.daemon.session("alpha", shellAfter("this is alpha\\r\\n"));
  const desk = await Desk.of(s);
  desk.device.tolerate(/status of 401|WebSocket connection|net::ERR_/);
  await desk.find("alpha", "Enter");
  await desk.shows("alpha", "this is alpha");
  const kept = () => desk.page.evaluate(() => [localStorage, sessionStorage].map((storage) => storage.getItem("transom.tiles")));
  assert.ok((await kept()).every((tiles) => tiles !== null));
  await s.daemon.json("revoke", "Test device", "--yes");
  await desk.device.message("revoked").waitFor();
  assert.deepEqual(await kept(), [null, null]);
});

scenario("on a phone's screen, too, a hardware keyboard finds sessions", async (s) => {
  for (const name of ["alpha", "beta"]) await s.daemon.session(name, shellAfter(`this is ${name}\\r\\n`));
  const { device, terminal } = await s.watching("alpha", { profile: { viewport: { width: 600, height: 800 } } });
  await terminal.shows("this is alpha");
  await new Desk(device).find("beta", "Enter");
  await terminal.shows("this is beta");
});

for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
  scenario(`on a ${colorScheme} phone a session’s menu leads to the others`, async (s) => {
    for (const name of ["alpha", "beta"]) await s.daemon.session(name, shellAfter(`this is ${name}\\r\\n`));
    const { device, terminal } = await s.watching("alpha", { profile: { ...PHONE, colorScheme } });
    await terminal.shows("this is alpha");
    await device.page.getByRole("button", { name: "Actions" }).tap();
    await s.screen(device, `menu-phone-${colorScheme}`);
    await device.page.getByRole("button", { name: "Go to…" }).tap();
    await device.page.getByRole("combobox").and(device.page.locator(":focus")).waitFor();
    await s.screen(device, `palette-phone-${colorScheme}`);
    await device.page.getByRole("option", { name: "beta" }).tap();
    await terminal.shows("this is beta");
  });
}
