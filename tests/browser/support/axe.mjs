import axe from "axe-core";

/**
 * Where a page breaks a rule of WCAG 2.2 AA, or one that axe-core calls best practice.
 * @param {import("./device.mjs").Device} device
 * @returns {Promise<{ id: string, help: string, nodes: string[] }[]>}
 */
export async function brokenRules({ page }) {
  // By the debugger: the app's content policy lets no other script into the page.
  const debuggers = await page.context().newCDPSession(page);
  await debuggers.send("Runtime.evaluate", { expression: `window.axe ?? (() => { ${axe.source} })()` });
  await debuggers.detach();
  return page.evaluate(violations, { exclude: PROGRAMS, tags: TAGS });
}

/**
 * Runs in the page, once what moves stands still: a colour on its way to another is nobody's to read.
 * @param {{ exclude: string[], tags: string[] }} options
 */
async function violations({ exclude, tags }) {
  const ending = document.getAnimations().filter(({ effect }) => effect?.getComputedTiming().endTime !== Infinity);
  await Promise.all(ending.map(({ finished }) => finished.catch(() => undefined)));
  /** @type {typeof import("axe-core")} */
  const checker = Reflect.get(window, "axe");
  const { violations: found } = await checker.run({ exclude }, { runOnly: tags, resultTypes: ["violations"] });
  return found.map(({ id, help, nodes }) => ({
    id,
    help,
    nodes: nodes.map(({ target, failureSummary }) => `${target.join(" ")}: ${failureSummary}`),
  }));
}

/** What programs print: their text and their colours. */
const PROGRAMS = [".xterm-rows"];
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
