/** A session's screen on a page, read as a person reads it: from what is drawn. */
export class Terminal {
  /** @param {import("playwright-core").Page} page */
  constructor(page) {
    this.page = page;
    this.rows = page.locator(".host > .xterm .xterm-rows > div");
    /** Lines that stand still over the live ones, once somebody scrolled up. */
    this.back = page.locator(".pane .xterm-rows > div");
  }

  /** Once the page shows a session live. @param {import("playwright-core").Page} page */
  static async ready(page) {
    await page.locator('.terminal-page .status[data-connection="live"], .exit').first().waitFor();
    return new Terminal(page);
  }

  /** Waits until a text is on the screen. @param {string | RegExp} text */
  shows(text) {
    return this.rows.filter({ hasText: text }).first().waitFor();
  }

  /** The rows as text, without blanks at their ends. */
  text() {
    return this.page.evaluate(rowsOnce, null);
  }

  /** The rows that stand still, as text. */
  backText() {
    return this.back.evaluateAll((rows) => rows.map((row) => (row.textContent ?? "").replaceAll("\u00a0", " ").trimEnd()));
  }

  /** Turns the wheel over the terminal, up where negative. @param {number} pixels */
  async wheel(pixels) {
    const box = await this.page.locator(".host").boundingBox();
    if (!box) throw new Error("there is no terminal");
    await this.page.mouse.move(box.x + box.width / 2, box.y + Math.min(box.height, 300) / 2);
    await this.page.mouse.wheel(0, pixels);
  }

  /** Pastes a text as a keyboard shortcut does. @param {string} text */
  async paste(text) {
    await this.page.getByRole("textbox", { name: "Terminal", exact: true }).evaluate((field, pasted) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData("text/plain", pasted);
      field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    }, text);
  }

  /** The rows, once the last of them that is not blank is the shell's bare prompt: all that was printed is drawn. */
  atPrompt() {
    return this.page.evaluate(rowsOnce, { lastIs: "$" });
  }

  /** Waits until exactly these rows are on the screen. @param {string[]} rows */
  async showsExactly(rows) {
    await this.page.evaluate(rowsOnce, { are: rows });
  }

  /** The colour in which a text is drawn. @param {string} text */
  colour(text) {
    return this.rows.getByText(text, { exact: true }).first().evaluate((node) => getComputedStyle(node).color);
  }

  /**
   * The column in which the last `|` of a row is drawn, counted from 0 and measured on the screen.
   * @param {number} row counted from 0
   * @param {number} columns of the session
   */
  columnOfBar(row, columns) {
    return this.rows.nth(row).evaluate(measureBar, columns);
  }

  /** Types as a hardware keyboard does, and presses Enter. @param {string} text */
  async type(text) {
    await this.page.getByRole("textbox", { name: "Terminal", exact: true }).focus();
    await this.page.keyboard.type(text);
    await this.page.keyboard.press("Enter");
  }

  /** Sends a line by the compose field, as on a phone. @param {string} text */
  async compose(text) {
    await this.page.getByLabel("Type a line").fill(text);
    await this.page.getByRole("button", { name: "Send" }).click();
  }
}

/**
 * Runs in the page: the rows, once they are what is wanted. It looks at each frame by itself, since Playwright's own
 * `waitForFunction` evaluates text again and again, and the app's content policy forbids that.
 * @param {{ lastIs?: string, are?: string[] } | null} wanted
 */
async function rowsOnce(wanted) {
  for (;;) {
    const drawn = [...document.querySelectorAll(".host > .xterm .xterm-rows > div")];
    const rows = drawn.map((row) => (row.textContent ?? "").replaceAll("\u00a0", " ").trimEnd());
    const isLast = wanted?.lastIs === undefined || rows.findLast((row) => row !== "") === wanted.lastIs;
    const isAll = wanted?.are === undefined || rows.join("\n") === wanted.are.join("\n");
    if (isLast && isAll) return rows;
    await new Promise(requestAnimationFrame);
  }
}

/**
 * Runs in the page.
 * @param {HTMLElement | SVGElement} row
 * @param {number} columns
 */
function measureBar(row, columns) {
  const range = document.createRange();
  const texts = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const at = text.textContent?.lastIndexOf("|") ?? -1;
    if (at < 0) continue;
    range.setStart(text, at);
    range.setEnd(text, at + 1);
  }
  const { left, width } = row.getBoundingClientRect();
  return (range.getBoundingClientRect().left - left) / (width / columns);
}
