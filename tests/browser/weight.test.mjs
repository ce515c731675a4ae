import assert from "node:assert/strict";
import { shellAfter } from "./support/daemon.mjs";
import { Load } from "./support/load.mjs";
import { pairByOffer } from "./support/pairing.mjs";
import { scenario } from "./support/scenario.mjs";
import { Terminal } from "./support/terminal.mjs";

scenario("the first load of the list, terminal code and all, is at most 200 KiB compressed", async (s) => {
  await s.daemon.session("shell", shellAfter(""));
  const phone = await s.paired();
  const load = await Load.begin(phone.page);
  const terminalCode = phone.page.waitForResponse(Load.TERMINAL_CODE);
  await phone.goto("/");
  await phone.row("shell").waitFor();
  await (await terminalCode).finished();
  assertAtMost(load.bytes, 200 * 1024);
});

scenario("a tap on a session asks for nothing but the API", async (s) => {
  await s.daemon.session("shell", shellAfter(""));
  const phone = await s.open();
  const terminalCode = phone.page.waitForResponse(Load.TERMINAL_CODE);
  await pairByOffer(phone, s.daemon, "operator", "Phone");
  await (await terminalCode).finished();
  const before = phone.requests.length;
  await phone.row("shell").tap();
  await (await Terminal.ready(phone.page)).shows("$");
  const paths = phone.requests.slice(before).map(({ url }) => new URL(url).pathname);
  // The browser fetches the page's icon when it likes.
  assert.deepEqual(paths.filter((path) => !/^\/v1\/|icon/.test(path)), []);
});

scenario("the first load of a session is at most 200 KiB compressed", async (s) => {
  const session = await s.daemon.session("shell", shellAfter(""));
  const phone = await s.paired();
  const load = await Load.begin(phone.page);
  await phone.goto(`/s/${session.id}`);
  await (await Terminal.ready(phone.page)).shows("$");
  assertAtMost(load.bytes, 200 * 1024);
});

scenario("the app is kept for a year, and the page that starts it never", async (s) => {
  const phone = await s.open();
  /** @type {Map<string, string | undefined>} */
  const kept = new Map();
  phone.page.on("response", (answer) => kept.set(new URL(answer.url()).pathname, answer.headers()["cache-control"]));
  await phone.goto("/");
  await phone.message("unpaired").waitFor();
  assert.match(kept.get("/") ?? "", /no-(cache|store)/);
  const assets = [...kept].filter(([path]) => path.startsWith("/assets/"));
  assert.ok(assets.length > 0);
  for (const [path, cache] of assets) assert.match(cache ?? "", /max-age=31536000, immutable/, path);
});

/**
 * @param {number} bytes
 * @param {number} most
 */
function assertAtMost(bytes, most) {
  assert.ok(bytes > 10 * 1024, "nothing was measured");
  assert.ok(bytes <= most, `${bytes} bytes`);
}
