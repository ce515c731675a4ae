import { DESKTOP } from "./browser.mjs";
import { Device } from "./device.mjs";

/** A wide page with a list, tiles and a palette, and a person who has a keyboard and nothing else. */
export class Desk {
  /** @param {import("./device.mjs").Device} device */
  constructor(device) {
    this.device = device;
    this.page = device.page;
    this.palette = this.page.locator("dialog.palette");
  }

  /** A paired one, at its list. @param {import("./scenario.mjs").Scenario} s */
  static async of(s) {
    return new Desk(await s.paired({ profile: DESKTOP }));
  }

  /** Another window of the same browser, at its list. */
  async another() {
    const device = new Device(await this.page.context().newPage(), this.device.origin);
    await device.goto("/");
    return new Desk(device);
  }

  /** Opens the palette. */
  async open() {
    await this.page.keyboard.press("Control+Shift+Space");
    await this.palette.getByRole("combobox").and(this.page.locator(":focus")).waitFor();
  }

  /** Leaves the palette as it is. */
  async leave() {
    await this.page.keyboard.press("Escape");
    await this.palette.waitFor({ state: "detached" });
  }

  /** Finds something by the palette, and does it with a key. @param {string} text @param {string} key */
  async find(text, key) {
    await this.open();
    await this.page.keyboard.type(text);
    await this.palette.locator('[aria-selected="true"]').getByText(text).waitFor();
    await this.page.keyboard.press(key);
    await this.palette.waitFor({ state: "detached" });
  }

  /** Goes to the tile on a side. @param {"ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown"} arrow */
  async go(arrow) {
    await this.open();
    await this.page.keyboard.press(`Shift+${arrow}`);
    await this.palette.waitFor({ state: "detached" });
  }

  /** The tile of a session. @param {string} name */
  tile(name) {
    return this.page.locator(".tile", { has: this.page.getByRole("heading", { name, exact: true }) });
  }

  /** The sessions in the tiles, in reading order. */
  names() {
    return this.page.locator(".tile .bar-title h2").allTextContents();
  }

  /** Waits until a text is on a session's screen. @param {string} name @param {string} text */
  shows(name, text) {
    return this.tile(name).locator(".xterm-rows > div").filter({ hasText: text }).first().waitFor();
  }

  /** Waits until a session's terminal hears the keyboard. @param {string} name */
  hasKeys(name) {
    return this.tile(name).locator(".xterm-helper-textarea:focus").waitFor({ state: "attached" });
  }

  /** Waits until something has the focus. @param {import("playwright-core").Locator} locator */
  isFocused(locator) {
    return locator.and(this.page.locator(":focus")).waitFor();
  }

  /** Types where the keys go, which is a session, and waits for what comes of it. @param {string} name @param {string} line @param {string} answer */
  async typeInto(name, line, answer) {
    await this.hasKeys(name);
    await this.page.keyboard.type(line);
    await this.page.keyboard.press("Enter");
    await this.shows(name, answer);
  }
}
