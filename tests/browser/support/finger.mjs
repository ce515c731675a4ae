/** One finger on the screen. */
export class Finger {
  /** @param {import("playwright-core").CDPSession} devtools */
  constructor(devtools) {
    this.devtools = devtools;
  }

  /** @param {import("playwright-core").Page} page */
  static async of(page) {
    return new Finger(await page.context().newCDPSession(page));
  }

  /** @param {number} x @param {number} y */
  down(x, y) {
    return this.devtools.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [{ x, y }] });
  }

  /** @param {number} x @param {number} y */
  move(x, y) {
    return this.devtools.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: [{ x, y }] });
  }

  up() {
    return this.devtools.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  }

  /** Leaves after it has rested, so that nothing runs on by itself: by the event's own time, as nobody waits here. */
  rest() {
    return this.devtools.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [], timestamp: Date.now() / 1_000 + REST });
  }

  /** From one height to another in small steps, as fingers go. @param {number} x @param {number} from @param {number} to */
  async swipe(x, from, to) {
    await this.down(x, from);
    const steps = Math.ceil(Math.abs(to - from) / STEP);
    for (let step = 1; step <= steps; step += 1) await this.move(x, from + ((to - from) * step) / steps);
    await this.rest();
  }
}

/** CSS pixels. */
const STEP = 15;
/** Seconds. */
const REST = 0.2;
