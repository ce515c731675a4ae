import { barePage } from "./bare.mjs";
import { Gate } from "./gate.mjs";
import { Phone } from "./phone.mjs";
import { prepare, started } from "./watch.mjs";

/**
 * From a key to the cell that shows it, in milliseconds, nothing else going on; beside a page whose widget writes what
 * it is given by the keyboard. In turns, so that both see the same machine.
 * @param {import("../support/scenario.mjs").Scenario} s
 * @param {string} programs the binary with the programs
 */
export async function echo(s, programs) {
  const gate = new Gate(s.home);
  await gate.open();
  await s.daemon.session("echo", `exec ${programs} echo ${gate.path}`);
  const program = await gate.arrival();
  const { phone } = await Phone.watching(s, "echo");
  await phone.page.getByRole("textbox", { name: "Terminal", exact: true }).focus();
  const bare = await barePage(s);
  await bare.page.evaluate(echoing);
  const ours = [];
  const floor = [];
  for (const one of [phone, bare]) {
    await one.slowDown();
    await prepare(one.page);
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    ours.push(...(await keys(phone)));
    floor.push(...(await keys(bare)));
  }
  program.destroy();
  gate.close();
  return { echo: { ours, floor } };
}

/** Runs in the page. */
function echoing() {
  const terminal = /** @type {any} */ (globalThis)["begin"]();
  terminal.onData((/** @type {string} */ data) => terminal.write(data));
  terminal.focus();
}

/** @param {Phone} phone */
async function keys(phone) {
  await phone.page.bringToFront();
  const all = [];
  for (const key of KEYS) {
    const took = await started(phone.page, "untilEcho");
    await phone.page.keyboard.press(key);
    all.push(await took());
  }
  return all;
}

const ROUNDS = 10;
const KEYS = "the quick brown fox ".replaceAll(" ", "-");
