import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { copyFile, mkdtemp, rename } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildOf } from "./support/front.mjs";
import { scenario } from "./support/scenario.mjs";
import { Terminal } from "./support/terminal.mjs";

/*
 * Two real builds, one after the other, under a page that stays open: `PREVIOUS=… TEST_TRANSOM_BINARY=… npm run upgrade`. It needs a
 * binary of an earlier commit, which no other test has, and so is none of them.
 */
const previous = process.env["PREVIOUS"];
const next = process.env["TEST_TRANSOM_BINARY"];
if (previous === undefined || next === undefined) throw new Error("say which binaries: PREVIOUS and TEST_TRANSOM_BINARY");
const folder = await mkdtemp(join(tmpdir(), "tu-"));
const installed = join(folder, "transom");
await copyFile(previous, installed);
process.env["TEST_TRANSOM_BINARY"] = installed;
process.on("exit", () => rmSync(folder, { recursive: true }));

scenario("a page of the former build goes on over an upgrade, with its session, and is of the new one once it is loaded again", async (s) => {
  await s.daemon.session("steady", "while read -r word; do echo heard:$word; done");
  const { device, terminal } = await s.watching("steady");
  const former = await buildOf(device.page);
  await terminal.type("one");
  await terminal.shows("heard:one");

  const { code, stderr } = await s.daemon.run("shutdown");
  assert.equal(code, 0, stderr);
  await copyFile(next, `${installed}.new`);
  await rename(`${installed}.new`, installed);
  device.tolerate(/Failed to load resource|WebSocket connection/);
  await s.restart();

  await Terminal.ready(device.page);
  assert.equal(await buildOf(device.page), former, "nothing loads the page again under a person's fingers");
  await terminal.type("two");
  await terminal.shows("heard:two");
  await device.page.reload();
  await (await Terminal.ready(device.page)).shows("heard:two");
  console.log(`the page was of build ${former}, and is of ${await buildOf(device.page)}`);
});
