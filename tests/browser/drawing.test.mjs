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
