// Takes the README's picture: `npm run picture` writes docs/picture.png. Not a test.

import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PHONE } from "./support/browser.mjs";
import { pairByOffer } from "./support/pairing.mjs";
import { Scenario } from "./support/scenario.mjs";
import { Terminal } from "./support/terminal.mjs";

/** Bytes: a README should not weigh more than the app. */
const LARGEST = 300 * 1024;

/** What the sessions of the picture print, by the command that seems to. */
const PROGRAMS = {
  "cargo test --workspace": [
    "\\033[1;32m   Compiling\\033[0m parser v0.4.0 (/home/ada/lantern/parser)",
    "\\033[1;32m   Compiling\\033[0m lantern v0.9.2 (/home/ada/lantern)",
    "\\033[1;33mwarning\\033[0m: \\033[1munused variable: `width`\\033[0m",
    "\\033[1;34m  --> \\033[0mparser/src/table.rs:41:9",
    "\\033[1;34m   |\\033[0m",
    "\\033[1;34m41 |\\033[0m     let width = row.width();",
    "\\033[1;34m   |\\033[0m         \\033[1;33m^^^^^ help: prefix it with an underscore: `_width`\\033[0m",
    "",
    "\\033[1;32m    Finished\\033[0m `test` profile in 12.41s",
    "\\033[1;32m     Running\\033[0m tests/parser.rs",
    "",
    "running 6 tests",
    "test a_table_without_rows_is_empty ... \\033[32mok\\033[0m",
    "test wide_letters_take_two_columns_한글 ... \\033[32mok\\033[0m",
    "test a_border_is_drawn_┌──┐ ... \\033[32mok\\033[0m",
    "test numbers_align_to_the_right ... \\033[32mok\\033[0m",
    "test a_cell_may_hold_an_emoji_👩 ... \\033[32mok\\033[0m",
    "test a_line_feed_ends_a_row ... \\033[31mFAILED\\033[0m",
    "",
    "test result: \\033[31mFAILED\\033[0m. 5 passed; 1 failed; finished in 0.03s",
    "",
  ],
  "agent fix-the-table": ["Shall I run the migration on the test database? [y/n] "],
  "npm run dev": ["  VITE ready in 312 ms", "  Local: http://localhost:5173/"],
  "deploy staging": ["✔ 14 files uploaded, staging is at 9f31c2e"],
};

const scenario = await Scenario.start();
try {
  await startPrograms(scenario);
  const look = /** @type {const} */ ({ colorScheme: "dark", deviceScaleFactor: 1.5 });
  const desktop = await scenario.open({ ...look, viewport: { width: 860, height: 560 } });
  await pairByOffer(desktop, scenario.daemon, "operator", "Laptop");
  await desktop.row("cargo").click();
  await (await Terminal.ready(desktop.page)).shows("test result");
  const phone = await scenario.open({ ...PHONE, ...look, viewport: { width: 300, height: 600 } });
  await pairByOffer(phone, scenario.daemon, "operator", "Ada’s phone");
  await phone.row("deploy").getByText("exit 0 ·").waitFor();
  for (const { page } of [desktop, phone]) await settle(page);
  const shots = [desktop, phone].map(({ page }) => page.screenshot({ animations: "disabled" }));
  await compose(scenario, await Promise.all(shots));
} finally {
  await scenario.end();
}

/**
 * Waits until a page has timed a round trip while it had nothing else to do.
 * @param {import("playwright-core").Page} page
 */
async function settle(page) {
  await page.getByText(/Live · \d+ ms/).waitFor();
  // The page asks the daemon again when it hears that the network is back.
  await page.evaluate(() => window.dispatchEvent(new Event("online")));
  await page.getByText(/Live · \d{1,2} ms/).waitFor();
}

/** @param {Scenario} s */
async function startPrograms(s) {
  const bin = join(s.daemon.folder, "bin");
  await mkdir(bin);
  for (const [line, printed] of Object.entries(PROGRAMS).reverse()) {
    const [command = "", ...args] = line.split(" ");
    const file = join(bin, command);
    const ending = command === "deploy" ? "" : "read answer";
    await writeFile(file, `#!/bin/sh\nprintf '${printed.join("\\r\\n")}'\n${ending}\n`);
    await chmod(file, 0o755);
    const env = { PATH: `${bin}:${process.env["PATH"]}`, HOME: s.daemon.folder, LANG: "C.UTF-8" };
    await s.daemon.api("POST", "/v1/sessions", { command, args, env, name: command, size: { columns: 80, rows: 24 } });
  }
}

/**
 * Lays the two pictures over each other, as one has them on a desk.
 * @param {Scenario} s
 * @param {Buffer[]} shots of the desktop and the phone
 */
async function compose(s, shots) {
  const context = await s.browser.newContext({ viewport: { width: 1080, height: 680 }, deviceScaleFactor: 1.5 });
  const page = await context.newPage();
  const [desktop, phone] = shots.map((shot) => `data:image/png;base64,${shot.toString("base64")}`);
  const frame = "position: absolute; border: 6px solid #2b2f37; box-shadow: 0 8px 30px #0005;";
  await page.setContent(`
    <body style="margin: 0; background: #dfe6e4">
      <img src="${desktop}" style="${frame} left: 36px; top: 40px; width: 860px; border-radius: 12px">
      <img src="${phone}" style="${frame} left: 744px; top: 44px; width: 290px; border-radius: 30px">
    </body>`);
  await page.waitForFunction(() => [...document.images].every((image) => image.complete));
  const file = fileURLToPath(new URL("../../docs/picture.png", import.meta.url));
  await mkdir(fileURLToPath(new URL("../../docs", import.meta.url)), { recursive: true });
  await page.screenshot({ path: file });
  const { length } = await readFile(file);
  if (length > LARGEST) throw new Error(`the picture has ${length} bytes, more than ${LARGEST}`);
  console.log(`${file}: ${length} bytes`);
}
