// Measures one thing of the web app in the system's Chromium: `node measure.mjs NAME PROGRAMS` prints an object on stdout
// that has, for each part of the figure, the samples of ours and of the floor. `cargo xtask bench web` calls it, and judges.

import { Scenario } from "../support/scenario.mjs";
import { echo } from "./echo.mjs";
import { firstScreen } from "./first-screen.mjs";
import { flood } from "./flood.mjs";
import { list } from "./list.mjs";
import { load } from "./load.mjs";

const MEASURES = { load, "first-screen": firstScreen, flood, echo, list };

const [name = "", programs = ""] = process.argv.slice(2);
const measure = Object.entries(MEASURES).find(([known]) => known === name)?.[1];
if (!measure) throw new Error(`there is no figure \`${name}\`; there are ${Object.keys(MEASURES).join(", ")}`);
const scenario = await Scenario.start(`[sessions]\nmax = 256\ndisk = "8GiB"\n`);
try {
  console.log(JSON.stringify(await measure(scenario, programs)));
} finally {
  await scenario.end();
}
