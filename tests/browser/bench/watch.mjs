/**
 * What runs in a page to time it. Each time is that of the input event itself, which the browser stamps before the page
 * hears of it, until the frame is painted that shows what came of it.
 */

/** Puts these functions into a page, under `bench`. @param {import("playwright-core").Page} page */
export async function prepare(page) {
  await page.evaluate(install);
}

/** Runs in the page. */
function install() {
  const channel = new MessageChannel();
  /** @type {((now: number) => void)[]} */
  let waiting = [];
  channel.port1.onmessage = () => {
    for (const act of waiting.splice(0)) act(performance.now());
  };
  /** Calls back once the frame is painted whose callbacks run now. @param {(now: number) => void} act */
  const painted = (act) => {
    waiting.push(act);
    channel.port2.postMessage(null);
  };
  const rows = () => document.querySelector(".host .xterm-rows");

  const bench = {
    /**
     * From the next event of a type until the terminal shows a text.
     * @param {string} type
     * @param {string} text
     */
    untilShown(type, text) {
      let begun = NaN;
      addEventListener(type, ({ timeStamp }) => (begun = timeStamp), { capture: true, once: true });
      return bench.shown(text).then((now) => now - begun);
    },
    /**
     * When the terminal shows a text, in milliseconds since the page began.
     * @param {string} text
     * @returns {Promise<number>}
     */
    shown(text) {
      return new Promise((resolve) => {
        const look = () => {
          if (!rows()?.textContent?.includes(text)) return;
          observer.disconnect();
          painted(resolve);
        };
        const observer = new MutationObserver(look);
        observer.observe(document.body, { subtree: true, childList: true, characterData: true });
      });
    },
    /** The time of day at which the terminal shows a text. @param {string} text */
    untilTime(text) {
      return bench.shown(text).then((now) => performance.timeOrigin + now);
    },
    /** From the next key until the terminal shows another text than now. */
    untilEcho() {
      let begun = NaN;
      addEventListener("keydown", ({ timeStamp }) => (begun = timeStamp), { capture: true, once: true });
      const before = rows()?.textContent;
      return new Promise((resolve) => {
        const look = () => {
          if (Number.isNaN(begun) || rows()?.textContent === before) return;
          observer.disconnect();
          painted((now) => resolve(now - begun));
        };
        const observer = new MutationObserver(look);
        observer.observe(rows() ?? document, { subtree: true, childList: true, characterData: true });
      });
    },
    /** From the end of the next tap until what its click changed is drawn. */
    untilTapped() {
      let begun = NaN;
      addEventListener("pointerup", ({ timeStamp }) => (begun = timeStamp), { capture: true, once: true });
      return new Promise((resolve) => {
        const clicked = () => requestAnimationFrame(() => painted((now) => resolve(now - begun)));
        addEventListener("click", clicked, { once: true });
      });
    },
  };
  Object.assign(globalThis, { bench });
}

/**
 * Starts one of the functions; what it returns asks for what that found.
 * @param {import("playwright-core").Page} page
 * @param {string} name
 * @param {...string} words
 * @returns {Promise<() => Promise<any>>}
 */
export async function started(page, name, ...words) {
  const result = await page.evaluateHandle(begin, { name, words });
  return () => result.evaluate(({ promise }) => promise);
}

/**
 * Runs in the page. A promise by itself would be waited for.
 * @param {{ name: string, words: string[] }} what
 */
function begin({ name, words }) {
  return { promise: /** @type {any} */ (globalThis)["bench"][name](...words) };
}
