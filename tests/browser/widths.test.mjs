import assert from "node:assert/strict";
import { DESKTOP } from "./support/browser.mjs";
import { scenario } from "./support/scenario.mjs";

scenario("daemon and browser agree on the columns of text of every width", (s) =>
  assertAgreement(s, ["plain", "✅", "e\u0301", "한", "漢字", "🇰🇷", "❤\ufe0f", "┌─┐", "ﬁ", "…", "½", "𝒳"]),
);

scenario("daemon and browser agree on the columns of signs that are joined to one", (s) => assertAgreement(s, ["👩‍👩‍👧‍👧", "👍🏽", "👩🏽‍💻"]));

/**
 * @param {import("./support/scenario.mjs").Scenario} s
 * @param {string[]} texts
 */
async function assertAgreement(s, texts) {
  await startPrinting(s, texts);
  const { terminal } = await s.watching("widths", { profile: DESKTOP });
  await terminal.shows("the-end");
  const rows = await terminal.text();
  /** @type {Record<string, string>} */
  const disagreements = {};
  for (const [at, text] of texts.entries()) {
    const drawn = await terminal.columnOfBar(2 * at, COLUMNS);
    // The daemon answered where its cursor was, behind the bar and counted from 1; the program printed that.
    const told = Number(/;(\d+)R/.exec(rows[2 * at + 1] ?? "")?.[1]) - 2;
    if (!(Math.abs(drawn - told) < 0.25)) disagreements[text] = `drawn in column ${drawn}, the daemon says ${told}`;
  }
  assert.deepEqual(disagreements, {});
}

/**
 * Prints each text and a bar, and asks the terminal for the cursor's place.
 * @param {import("./support/scenario.mjs").Scenario} s
 * @param {string[]} texts
 */
function startPrinting(s, texts) {
  const prints = texts.map((text) => `printf '%s|' '${text}'; ask`);
  const ask = "ask() { stty -echo; printf '\\033[6n'; IFS= read -rsd R place; printf '\\r\\n%sR\\r\\n' \"${place#?}\"; }";
  return s.daemon.session("widths", `exec bash -c ${quoted([ask, ...prints, "echo the-end; read line"].join("; "))}`, { columns: COLUMNS, rows: 40 });
}

/** @param {string} text */
function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

const COLUMNS = 80;
