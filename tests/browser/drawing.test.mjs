import assert from "node:assert/strict";
import { DESKTOP, PHONE } from "./support/browser.mjs";
import { scenario } from "./support/scenario.mjs";

/** What full-screen programs draw with. */
const ART = ["┌──────┬──────┐", "│ left │ right│", "├──────┼──────┤", "│ █▓▒░ │ ▀▄▌▐ │", "└──────┴──────┘", "╭─╮ ╔═╦═╗ ┏━┓", "╰─╯ ╚═╩═╝ ┗━┛"];

for (const [kind, profile] of Object.entries({ phone: PHONE, desktop: DESKTOP })) {
  scenario(`lines of boxes go on from row to row on a ${kind}`, async (s) => {
    const lines = [...ART, "\\033[44;97m ~/src \\033[32;7m\u2502\\033[0m end"].join("\\r\\n");
    await s.daemon.session("art", `printf '${lines}'; read line`, { columns: 40, rows: 12 });
    const { device, terminal } = await s.watching("art", { profile });
    await terminal.shows("end");
    await s.picture(device, `art-${kind}`);
    const first = await terminal.rows.nth(0).boundingBox();
    const last = await terminal.rows.nth(4).boundingBox();
    assert.ok(first && last);
    // From the middle of the upper corner to the middle of the lower one, at the left border.
    const clip = { x: first.x, y: first.y + first.height / 2 + 1, width: first.width / 40, height: last.y - first.y - 2 };
    const picture = await device.page.screenshot({ clip, animations: "disabled" });
    assert.deepEqual(await device.page.evaluate(gaps, picture.toString("base64")), []);
  });
}

/** What prompts and status lines are made of: wedges and half circles that fill their cells, their outlines, and three signs. */
const PROMPTS = [
  "\\033[44;97m ~/src \\033[0;34;42m\ue0b0\\033[30;42m \ue0a0 main \\033[0;32m\ue0b0\\033[0m",
  "\\033[44;97m ~/src \\033[0;34;42m\ue0b0\\033[30;42m \ue0a0 main \\033[0;32m\ue0b0\\033[0m",
  "\\033[0;35m\ue0b2\\033[45;97m \ue0a1 12 \ue0b3 \ue0a2 ro \\033[0;35m\ue0b0\\033[0m",
  "\\033[0;36m\ue0b6\\033[46;97m round \ue0b7 \\033[0;36m\ue0b4\\033[0m",
  "a \ue0b1 b \ue0b3 c \ue0b5 d \ue0b7 e |",
  "\\033[1;3ma \ue0b1 b \ue0b3 c \ue0b5 d \ue0b7 e\\033[0m |",
];

for (const [kind, profile] of Object.entries({ phone: PHONE, desktop: DESKTOP })) {
  for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
    scenario(`the signs of prompts fill their cells and move nothing behind them, on a ${colorScheme} ${kind}`, async (s) => {
      await s.daemon.session("prompts", `printf '${PROMPTS.join("\\r\\n")}'; read line`, { columns: 40, rows: 8 });
      const { device, terminal } = await s.watching("prompts", { profile: { ...profile, colorScheme } });
      await terminal.shows("e |");
      await s.picture(device, `prompts-${kind}-${colorScheme}`);
      // A wedge and a half circle, from what is before them to most of their way: there is no seam.
      for (const [row, column] of /** @type {const} */ ([[0, 16], [3, 10]])) {
        const box = await terminal.rows.nth(row).boundingBox();
        assert.ok(box);
        const cell = box.width / 40;
        const clip = { x: box.x + cell * column - 2, y: box.y + box.height * 0.45, width: 2 + cell * 0.6, height: box.height * 0.1 };
        const picture = await device.page.screenshot({ clip, animations: "disabled" });
        assert.deepEqual(await device.page.evaluate(foreign, picture.toString("base64")), [], `row ${row}`);
      }
      for (const row of [4, 5]) assert.ok(Math.abs((await terminal.columnOfBar(row, 40)) - 18) < 0.1, `row ${row}`);
    });
  }
}

/**
 * Runs in the page: the pixels that have not the colour of the first, but for shades that no eye tells apart.
 * @param {string} picture
 */
async function foreign(picture) {
  const bytes = Uint8Array.from(atob(picture), (character) => character.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext("2d");
  if (!context) throw new Error("there is no canvas");
  context.drawImage(image, 0, 0);
  const { data, width, height } = context.getImageData(0, 0, image.width, image.height);
  const pixel = (/** @type {number} */ at) => [...data.subarray(at * 4, at * 4 + 3)];
  const own = pixel(0);
  const all = Array.from({ length: width * height }, (_, at) => ({ x: at % width, y: Math.floor(at / width), is: pixel(at) }));
  return all.filter(({ is }) => is.some((light, channel) => Math.abs(light - (own[channel] ?? 0)) > 40));
}

/**
 * Runs in the page: the rows of pixels in which nothing is drawn.
 * @param {string} picture
 */
async function gaps(picture) {
  const bytes = Uint8Array.from(atob(picture), (character) => character.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext("2d");
  if (!context) throw new Error("there is no canvas");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, image.width, image.height);
  const darkest = Array.from({ length: image.height }, (_, y) => Math.min(...data.subarray(y * image.width * 4, (y + 1) * image.width * 4).filter((_, at) => at % 4 === 0)));
  return darkest.flatMap((light, y) => (light > 160 ? [y] : []));
}
