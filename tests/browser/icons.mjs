import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { launch } from "./support/browser.mjs";

/** Draws the icons of the installed app anew from their sources: `npm run icons`. */
const home = await mkdtemp(join(tmpdir(), "icons-"));
const browser = await launch(home);
try {
  for (const [source, size, name] of /** @type {const} */ ([
    ["icon", 192, "icon-192"],
    ["icon", 512, "icon-512"],
    ["maskable", 192, "maskable-192"],
    ["maskable", 512, "maskable-512"],
    // iOS cuts the corners itself, and makes transparent ones black.
    ["maskable", 180, "apple-touch-icon"],
  ])) {
    const svg = await readFile(at(`icons/${source}.svg`), "utf8");
    const page = await browser.newPage({ viewport: { width: size, height: size } });
    await page.setContent(`<style>body{margin:0}svg{display:block;width:${size}px;height:${size}px}</style>${svg}`);
    await writeFile(at(`public/icons/${name}.png`), await page.screenshot({ omitBackground: true }));
    await page.close();
  }
} finally {
  await browser.close();
  await rm(home, { recursive: true, force: true });
}

/** @param {string} path below the app's folder */
function at(path) {
  return fileURLToPath(new URL(`../../web/ui/${path}`, import.meta.url));
}
