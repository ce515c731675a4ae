import assert from "node:assert/strict";
import { DESKTOP } from "./support/browser.mjs";
import { shellAfter } from "./support/daemon.mjs";
import { scenario } from "./support/scenario.mjs";

scenario("for screen readers the screen is a list of lines, after another load too", async (s) => {
  await s.daemon.session("shell", shellAfter("a line to read\\r\\n"));
  const { device, terminal } = await s.watching("shell", { profile: DESKTOP });
  await terminal.shows("a line to read");
  const lines = device.page.locator(".xterm-accessibility-tree [role=listitem]");
  assert.equal(await lines.count(), 0);
  await device.page.getByRole("button", { name: "Actions" }).click();
  await device.page.getByRole("button", { name: "For screen readers" }).click();
  await lines.filter({ hasText: "a line to read" }).waitFor({ state: "attached" });
  await terminal.type("echo typed-$((1+1))");
  await lines.filter({ hasText: "typed-2" }).waitFor({ state: "attached" });
  await device.page.reload();
  await lines.filter({ hasText: "typed-2" }).waitFor({ state: "attached" });
});
