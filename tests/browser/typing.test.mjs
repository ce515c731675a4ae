import assert from "node:assert/strict";
import { DESKTOP } from "./support/browser.mjs";
import { shellAfter } from "./support/daemon.mjs";
import { scenario } from "./support/scenario.mjs";

/** Shows every byte that it gets, one screen line for all. */
const BYTES = "stty raw -echo; printf 'ready:'; exec cat -vt";

scenario("what an on-screen keyboard composes is sent when it is committed, once", async (s) => {
  await s.daemon.session("bytes", BYTES);
  const { device, terminal } = await s.watching("bytes");
  await terminal.shows("ready:");
  const keyboard = await OnScreenKeyboard.at(device.page);
  await keyboard.compose("h");
  await keyboard.compose("hel");
  await device.page.locator(".composition", { hasText: /^hel$/ }).waitFor();
  await keyboard.commit("hello");
  await keyboard.commit(" ");
  await device.page.locator(".composition").waitFor({ state: "hidden" });
  await keyboard.compose("ni hao");
  await keyboard.commit("nihao!");
  await device.page.keyboard.press("Backspace");
  await keyboard.commit("👍");
  await device.page.keyboard.press("Enter");
  await terminal.shows("ready:hello nihao!^?M-pM-^_M-^QM-^M^M");
});

scenario("a key of the bar sends what was composed before it, and a modifier takes the next letter at once", async (s) => {
  await s.daemon.session("bytes", BYTES);
  const { device, terminal } = await s.watching("bytes");
  await terminal.shows("ready:");
  const keyboard = await OnScreenKeyboard.at(device.page);
  await keyboard.compose("gi");
  await device.page.getByRole("button", { name: "Tab" }).tap();
  await terminal.shows("ready:gi^I");
  await device.page.getByRole("button", { name: "Ctrl" }).tap();
  await keyboard.compose("r");
  await terminal.shows("ready:gi^I^R");
  await keyboard.commit("x");
  await terminal.shows("ready:gi^I^Rx");
});

scenario("in a full-screen program each letter counts at once", async (s) => {
  await s.daemon.session("bytes", `printf '\\033[?1049h'; ${BYTES}`);
  const { device, terminal } = await s.watching("bytes");
  await terminal.shows("ready:");
  const keyboard = await OnScreenKeyboard.at(device.page);
  await keyboard.compose("d");
  await terminal.shows("ready:d");
  await keyboard.compose("d");
  await terminal.shows("ready:dd");
});

scenario("a tap brings the keyboard back that was closed", async (s) => {
  await s.daemon.session("bytes", BYTES);
  const { device, terminal } = await s.watching("bytes");
  await terminal.shows("ready:");
  await OnScreenKeyboard.at(device.page);
  await device.page.evaluate(() => {
    const field = document.activeElement;
    Object.assign(globalThis, { focused: 0 });
    field?.addEventListener("focus", () => Object.assign(globalThis, { focused: 1 }));
  });
  await device.page.locator(".host").tap();
  assert.equal(await device.page.evaluate("focused"), 1);
  await OnScreenKeyboard.isOpen(device.page);
});

scenario("while the keyboard is open the cursor's line is in view, and the session keeps its size", async (s) => {
  const session = await s.daemon.session("tall", `seq 1 58; ${BYTES}`, { columns: 60, rows: 60 });
  const { device, terminal } = await s.watching("tall");
  await terminal.shows("ready:");
  await device.page.getByRole("button", { name: "Readable size" }).tap();
  await OnScreenKeyboard.at(device.page);
  await device.page.setViewportSize({ width: 390, height: 420 });
  await device.page.evaluate(cursorInView);
  await device.page.setViewportSize({ width: 390, height: 844 });
  await device.page.evaluate(cursorInView);
  assert.deepEqual((await s.daemon.api("GET", `/v1/sessions/${session.id}`)).size, { columns: 60, rows: 60 });
});

scenario("a hardware keyboard's keys have the form that the program asked for, after another load too", async (s) => {
  await s.daemon.session("plain", BYTES);
  const { device, terminal } = await s.watching("plain", { profile: DESKTOP });
  await terminal.shows("ready:");
  await device.page.getByRole("textbox", { name: "Terminal", exact: true }).focus();
  const keys = ["Control+c", "Alt+x", "Shift+Tab", "ArrowUp", "Control+ArrowLeft", "F5", "Shift+Enter"];
  for (const key of keys) await device.page.keyboard.press(key);
  await terminal.shows("ready:^C^[x^[[Z^[[A^[[1;5D^[[15~^M");

  await s.daemon.session("kitty", `printf '\\033[>1u'; ${BYTES}`);
  await device.goto("/");
  await device.row("kitty").click();
  await terminal.shows("ready:");
  await device.page.reload();
  await terminal.shows("ready:");
  await device.page.getByRole("textbox", { name: "Terminal", exact: true }).focus();
  for (const key of keys) await device.page.keyboard.press(key);
  await terminal.shows("ready:^[[99;5u^[[120;3u^[[9;2u^[[A^[[1;5D^[[15~^[[13;2u");
});

/** Runs in the page: resolves once the cursor is drawn where it can be seen. */
async function cursorInView() {
  for (;;) {
    const cursor = document.querySelector(".xterm-cursor")?.getBoundingClientRect();
    const space = document.querySelector(".scroller")?.getBoundingClientRect();
    if (cursor && space && space.bottom <= innerHeight && cursor.top >= space.top && cursor.bottom <= space.bottom) return;
    await new Promise(requestAnimationFrame);
  }
}

/** Edits the focused field as an input method does, through the browser's own interface for these. */
class OnScreenKeyboard {
  /** @param {import("playwright-core").CDPSession} devtools */
  constructor(devtools) {
    this.devtools = devtools;
  }

  /** A tap on the terminal opens it. @param {import("playwright-core").Page} page */
  static async at(page) {
    await page.locator(".host").tap();
    await OnScreenKeyboard.isOpen(page);
    return new OnScreenKeyboard(await page.context().newCDPSession(page));
  }

  /** @param {import("playwright-core").Page} page */
  static async isOpen(page) {
    await page.locator("textarea.xterm-helper-textarea:focus").waitFor({ state: "attached" });
  }

  /** The composition is this text now. @param {string} text */
  compose(text) {
    return this.devtools.send("Input.imeSetComposition", { text, selectionStart: text.length, selectionEnd: text.length });
  }

  /** Ends the composition with a text, or inserts one. @param {string} text */
  commit(text) {
    return this.devtools.send("Input.insertText", { text });
  }
}

scenario("the Enter that confirms a conversion sends no line, also where the composition has ended before it", async (s) => {
  await s.daemon.session("shell", shellAfter(""));
  const { terminal } = await s.watching("shell");
  const field = terminal.page.getByLabel("Type a line");
  await field.fill("にほん");
  await field.evaluate((element) => element.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", keyCode: 229, bubbles: true, cancelable: true })));
  assert.equal(await field.inputValue(), "にほん");
});

scenario("a line that is not sent is there after a look at the list and another load", async (s) => {
  await s.daemon.session("shell", shellAfter(""));
  const { device, terminal } = await s.watching("shell");
  const { page } = terminal;
  const field = page.getByLabel("Type a line");
  await field.fill("echo half");
  await page.getByRole("link", { name: "Sessions" }).tap();
  await device.row("shell").tap();
  await page.locator("textarea").and(field).waitFor();
  assert.equal(await field.inputValue(), "echo half");
  await page.reload();
  await field.waitFor();
  assert.equal(await field.inputValue(), "echo half");
});
