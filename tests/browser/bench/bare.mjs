import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Phone } from "./phone.mjs";

const WIDGET = new URL("../../../web/ui/node_modules/@xterm/xterm/", import.meta.url);

/** The widget's files as its package has them. */
export const widgetFiles = {
  script: fileURLToPath(new URL("lib/xterm.js", WIDGET)),
  style: fileURLToPath(new URL("css/xterm.css", WIDGET)),
};

/**
 * The floor: a page with the app's terminal widget and nothing else, fed from memory. It has the size and the letters of
 * a session on the phone, and one button where the app has its key bar.
 * @param {import("../support/scenario.mjs").Scenario} s
 */
export async function barePage(s) {
  const phone = await Phone.blank(s);
  await phone.page.setContent(await document());
  await phone.page.evaluate(define);
  return phone;
}

async function document() {
  const [script, style] = await Promise.all([readFile(widgetFiles.script, "utf8"), readFile(widgetFiles.style, "utf8")]);
  return `<!doctype html>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>${style} body { margin: 0 } .host { height: 480px } button { height: 44px }</style>
<div class="host"></div>
<button type="button" id="key" aria-pressed="false">Ctrl</button>
<script>${script.replaceAll("</script", "<\\/script")}</script>`;
}

/** Runs in the page: how it begins a terminal, and its button. */
function define() {
  const host = /** @type {HTMLElement} */ (document.querySelector(".host"));
  Object.assign(globalThis, {
    begin() {
      const { Terminal } = /** @type {any} */ (globalThis);
      const terminal = new Terminal({ fontFamily: "monospace", fontSize: 7.75, lineHeight: 1.15, scrollback: 1000 });
      terminal.open(host);
      Object.assign(globalThis, { terminal });
      return terminal;
    },
  });
  const key = document.querySelector("#key");
  key?.addEventListener("click", () => key.setAttribute("aria-pressed", String(key.getAttribute("aria-pressed") !== "true")));
}
