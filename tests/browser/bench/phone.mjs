import { PHONE } from "../support/browser.mjs";
import { Device } from "../support/device.mjs";
import { pairByOffer } from "../support/pairing.mjs";
import { Terminal } from "../support/terminal.mjs";

/** How many times slower than this machine's core a phone's is taken to be. */
const SLOWER = 4;

/** A page of a phone with a slow processor, and what the browser itself says of it. */
export class Phone {
  /**
   * @param {import("playwright-core").Page} page
   * @param {import("playwright-core").CDPSession} devtools
   */
  constructor(page, devtools) {
    this.page = page;
    this.devtools = devtools;
  }

  /**
   * A paired phone at its list of sessions. It reaches the daemon without the tests' tunnel, whose process drives the
   * page at the same time.
   * @param {import("../support/scenario.mjs").Scenario} s
   */
  static async paired(s) {
    const phone = await Phone.blank(s);
    const device = new Device(phone.page, `https://localhost:${s.daemon.port}`);
    await pairByOffer(device, s.daemon, "operator", "Bench");
    return { phone, device };
  }

  /** A phone without a page. @param {import("../support/scenario.mjs").Scenario} s */
  static async blank(s) {
    const context = await s.browser.newContext(PHONE);
    const page = await context.newPage();
    return new Phone(page, await context.newCDPSession(page));
  }

  /**
   * A paired phone that shows a session.
   * @param {import("../support/scenario.mjs").Scenario} s
   * @param {string} name of the session
   */
  static async watching(s, name) {
    const { phone, device } = await Phone.paired(s);
    await device.row(name).tap();
    return { phone, terminal: await Terminal.ready(phone.page) };
  }

  /** From now on the processor is a phone's. */
  async slowDown() {
    await this.devtools.send("Emulation.setCPUThrottlingRate", { rate: SLOWER });
  }

  /**
   * The part of its core that the page's main thread takes while something goes on. Time that others had the core in
   * between does not count; that the core is slower does.
   * @param {() => Promise<void>} act
   */
  async share(act) {
    await this.devtools.send("Performance.enable", { timeDomain: "threadTicks" });
    const before = await this.#taskSeconds();
    const begun = performance.now();
    await act();
    const seconds = (performance.now() - begun) / 1000;
    const after = await this.#taskSeconds();
    await this.devtools.send("Performance.disable");
    return (after - before) / seconds;
  }

  async #taskSeconds() {
    const { metrics } = await this.devtools.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "TaskDuration")?.value ?? NaN;
  }

  /** Closes its pages. */
  async end() {
    await this.page.context().close();
  }
}
