import { once } from "node:events";
import { createInterface } from "node:readline";

/** @typedef {import("./daemon.mjs").Daemon} Daemon */
/** @typedef {import("./device.mjs").Device} Device */

/**
 * Pairs a page by an offer of the API's, approved on the Unix socket.
 * @param {Device} device
 * @param {Daemon} daemon
 * @param {"viewer" | "operator"} role
 * @param {string} label
 */
export async function pairByOffer(device, daemon, role, label) {
  const code = await askToPair(device, await offer(daemon), label);
  await daemon.json("approve", code, "--role", role);
  await device.page.waitForURL(`${device.origin}/`);
  await device.connection("live").waitFor();
}

/** Makes an offer; the path and fragment of its link. @param {Daemon} daemon */
export async function offer(daemon) {
  return partOfLink((await daemon.api("POST", "/v1/pairing/offers", {})).url);
}

/** The path and fragment of a link; the port of the tunnel takes the place of the daemon's. @param {string} link */
export function partOfLink(link) {
  const { pathname, hash } = new URL(link);
  return pathname + hash;
}

/**
 * Opens an offer's link and asks, as a person does; resolves with the six digits that the page shows.
 * @param {Device} device
 * @param {string} link path and fragment
 * @param {string} label
 */
export async function askToPair(device, link, label) {
  await device.goto(link);
  await device.page.getByLabel("Name of this device").fill(label);
  await device.page.getByRole("button", { name: "Pair this device" }).click();
  return codeOf(device);
}

/** The six digits on the page. @param {Device} device */
export async function codeOf(device) {
  const code = await device.page.getByLabel("Pairing code").textContent();
  return code ?? "";
}

/** `transom pair --json`, line by line. */
export class PairCommand {
  #lines;

  /** @param {Daemon} daemon */
  constructor(daemon) {
    this.child = daemon.spawn("pair", "--json");
    this.#lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  /** The next line that says something of interest. @param {(line: any) => boolean} [isWanted] @returns {Promise<any>} */
  async next(isWanted = () => true) {
    for (;;) {
      const { value, done } = await this.#lines.next();
      if (done) throw new Error("`transom pair` ended");
      const line = JSON.parse(value);
      if (isWanted(line)) return line;
    }
  }

  /** Its exit code. @returns {Promise<number>} */
  async end() {
    const { exitCode } = this.child;
    if (exitCode !== null) return exitCode;
    const [code] = await once(this.child, "exit");
    return code;
  }
}
