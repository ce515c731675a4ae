import { readFile } from "node:fs/promises";
import { brotliCompressSync } from "node:zlib";
import { shellAfter } from "../support/daemon.mjs";
import { Load } from "../support/load.mjs";
import { widgetFiles } from "./bare.mjs";
import { Phone } from "./phone.mjs";

/**
 * What the list loads, the terminal's code included, in bytes on the wire; beside the widget's own files, compressed.
 * @param {import("../support/scenario.mjs").Scenario} s
 */
export async function load(s) {
  await s.daemon.session("shell", shellAfter(""));
  const { phone, device } = await Phone.paired(s);
  const measured = await Load.begin(phone.page);
  const terminalCode = phone.page.waitForResponse(Load.TERMINAL_CODE);
  await device.goto("/");
  await device.row("shell").waitFor();
  await (await terminalCode).finished();
  const files = await Promise.all(Object.values(widgetFiles).map((file) => readFile(file)));
  const floor = files.reduce((sum, file) => sum + brotliCompressSync(file).length, 0);
  return { load: { ours: [measured.bytes], floor: [floor] } };
}
