import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { barePage } from "./bare.mjs";
import { Gate, letGo, now } from "./gate.mjs";
import { Phone } from "./phone.mjs";
import { prepare, started } from "./watch.mjs";

/**
 * @typedef {import("../support/scenario.mjs").Scenario} Scenario
 * @typedef {{ taps: number[], memory: number, late: number }} Watched milliseconds; bytes; milliseconds
 */

/**
 * A session prints 100 MB while the phone shows it and its key bar is tapped: milliseconds from a tap until what it
 * changed is drawn; how many bytes of memory more the browser's pages take at most; milliseconds from the end of the output
 * until the last screen is drawn, which must be the daemon's own. Beside the widget alone, fed for as long.
 * @param {Scenario} s
 * @param {string} programs the binary with the programs
 */
export async function flood(s, programs) {
  const gate = new Gate(s.home);
  await gate.open();
  const content = await written(programs, gate);
  /** @type {{ ours: Watched[], floor: Watched[] }} */
  const all = { ours: [], floor: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    const { watched, seconds } = await ours(s, programs, gate, `flood-${round}`);
    all.ours.push(watched);
    all.floor.push(await floor(s, content, seconds));
  }
  gate.close();
  return parts(all);
}

/**
 * One round of ours.
 * @param {Scenario} s
 * @param {string} programs
 * @param {Gate} gate
 * @param {string} name of the session
 */
async function ours(s, programs, gate, name) {
  const { id } = await s.daemon.session(name, `${programs} emit ${gate.path} plain ${BYTES}; printf '${LAST}'; exec cat`);
  const program = await gate.arrival();
  const { phone, terminal } = await Phone.watching(s, name);
  await phone.slowDown();
  await prepare(phone.page);
  const shown = await started(phone.page, "untilTime", LAST);
  const begun = now();
  const ending = letGo(program);
  const tapped = await tapUntil(s, phone, ending);
  const ended = await ending;
  const late = (await shown()) - ended;
  const { stdout } = await s.daemon.run("screen", id);
  const rows = stdout.trimEnd().split("\n").map((row) => row.trimEnd());
  await terminal.showsExactly([...rows, ...Array(ROWS).fill("")].slice(0, ROWS));
  await phone.end();
  await s.daemon.run("stop", id);
  return { watched: { ...tapped, late }, seconds: (ended - begun) / 1000 };
}

/**
 * One round of the floor.
 * @param {Scenario} s
 * @param {string} content
 * @param {number} seconds
 */
async function floor(s, content, seconds) {
  const phone = await barePage(s);
  await phone.slowDown();
  await prepare(phone.page);
  const shown = await started(phone.page, "untilTime", LAST);
  const ending = phone.page.evaluate(feed, { content, milliseconds: seconds * 1000, last: LAST });
  const tapped = await tapUntil(s, phone, ending);
  const late = (await shown()) - (await ending);
  await phone.end();
  return { ...tapped, late };
}

/**
 * Taps Ctrl again and again until something is over: it sends nothing, and looks different after each tap.
 * @param {Scenario} s
 * @param {Phone} phone
 * @param {Promise<unknown>} over
 */
async function tapUntil(s, phone, over) {
  const box = await phone.page.getByRole("button", { name: /^Ctrl/ }).boundingBox();
  if (!box) throw new Error("there is no key to tap");
  let isOver = false;
  void over.then(() => (isOver = true));
  /** @type {number[]} */
  const taps = [];
  const before = await memory(s);
  let most = before;
  while (!isOver) {
    const tapped = await started(phone.page, "untilTapped");
    await phone.page.touchscreen.tap(box.x + box.width / 2, box.y + box.height / 2);
    taps.push(await tapped());
    most = Math.max(most, await memory(s));
  }
  return { taps, memory: most - before };
}

/** What all processes of the browser that have pages hold by themselves, in bytes (proc(5)). @param {Scenario} s */
async function memory(s) {
  const devtools = await s.browser.newBrowserCDPSession();
  const { processInfo } = await devtools.send("SystemInfo.getProcessInfo");
  await devtools.detach();
  const pages = processInfo.filter(({ type }) => type === "renderer");
  const each = await Promise.all(pages.map(({ id }) => anonymous(id)));
  return each.reduce((sum, bytes) => sum + bytes, 0);
}

/** @param {number} pid */
async function anonymous(pid) {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}

/** A megabyte of what the program writes, as its terminal passes it on. @param {string} programs @param {Gate} gate */
async function written(programs, gate) {
  const child = spawn(programs, ["emit", gate.path, "plain", String(1 << 20)], { stdio: ["ignore", "pipe", "inherit"] });
  const [bytes] = await Promise.all([buffer(child.stdout), gate.arrival().then(letGo)]);
  return bytes.toString("utf8").replaceAll("\n", "\r\n");
}

/**
 * Runs in the page: feeds the widget, the next piece once the one before is drawn, and then the last line; gives the time
 * of day of that.
 * @param {{ content: string, milliseconds: number, last: string }} what
 */
async function feed({ content, milliseconds, last }) {
  const terminal = /** @type {any} */ (globalThis)["begin"]();
  const bytes = new TextEncoder().encode(content);
  const piece = 64 * 1024;
  const until = performance.now() + milliseconds;
  for (let at = 0; performance.now() < until; at = (at + piece) % (bytes.length - piece)) {
    await new Promise((drawn) => terminal.write(bytes.subarray(at, at + piece), drawn));
  }
  terminal.write(last);
  return performance.timeOrigin + performance.now();
}

/** @param {{ ours: Watched[], floor: Watched[] }} all */
function parts({ ours, floor }) {
  /** @param {(watched: Watched) => number[]} of */
  const each = (of) => ({ ours: ours.flatMap(of), floor: floor.flatMap(of) });
  return {
    "flood tap": each(({ taps }) => taps),
    "flood memory": each(({ memory }) => [memory]),
    "flood last screen": each(({ late }) => [late]),
  };
}

const ROUNDS = 3;
const BYTES = 100_000_000;
const ROWS = 24;
const LAST = "the flood is over";
