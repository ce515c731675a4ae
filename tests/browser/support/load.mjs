/** Counts what a page loads over the network, compressed and with its headers, as if it had never been there. */
export class Load {
  /** The part of the app that is loaded for a terminal only. */
  static TERMINAL_CODE = /\/assets\/controls-.*\.js$/;

  #bytes = 0;

  /** @param {import("playwright-core").Page} page */
  static async begin(page) {
    const load = new Load();
    const devtools = await page.context().newCDPSession(page);
    devtools.on("Network.loadingFinished", ({ encodedDataLength }) => (load.#bytes += encodedDataLength));
    await devtools.send("Network.enable");
    await devtools.send("Network.setCacheDisabled", { cacheDisabled: true });
    // It may have kept the shell since the device was paired.
    await devtools.send("Network.setBypassServiceWorker", { bypass: true });
    return load;
  }

  /** What came so far, in bytes. */
  get bytes() {
    return this.#bytes;
  }
}
