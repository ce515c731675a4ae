import assert from "node:assert/strict";
import { Attachment } from "./support/attachment.mjs";
import { DESKTOP } from "./support/browser.mjs";
import { askToPair, offer } from "./support/pairing.mjs";
import { scenario } from "./support/scenario.mjs";

scenario("a revoked page says so at once, erases its key and asks no more", async (s) => {
  const session = await s.daemon.session("counter", COUNTER);
  const lost = await s.watching("counter", { label: "Lost phone" });
  const kept = await s.paired({ label: "Kept laptop", profile: DESKTOP, role: "viewer" });
  const [gone] = await lost.device.credentials();
  assert.ok(gone);
  const witness = await Attachment.ofDevice(s.origin, await kept.access(), session.id, "mode=lossless&from=0");
  await witness.until(() => witness.output.includes("\n50\r\n"));

  lost.device.tolerate(CUT_OFF);
  const [revoked] = await s.daemon.json("revoke", "Lost phone", "--yes");
  assert.equal(revoked.device_id, gone.deviceId);
  assert.ok(revoked.closed > 0, "the page had connections open");
  await lost.device.message("revoked").waitFor();
  assert.deepEqual(await lost.device.credentials(), []);

  const asked = lost.device.requests.length;
  const last = lastNumber(witness.output);
  await witness.until(() => lastNumber(witness.output) >= last + 100);
  assert.equal(lost.device.requests.length, asked, "a revoked page asked again");
  assertEveryNumber(witness.output);
  await kept.connection("live").waitFor();
});

scenario("a revoked page at the list says so too, and so does each later visit without a request", async (s) => {
  const phone = await s.paired({ label: "Lost phone" });
  phone.tolerate(CUT_OFF);
  await s.daemon.json("revoke", "Lost phone", "--yes");
  await phone.message("revoked").waitFor();
  await phone.goto("/");
  await phone.message("unpaired").waitFor();
  const api = phone.requests.filter(({ url }) => new URL(url).pathname.startsWith("/v1/"));
  assert.equal(new URL(api.at(-1)?.url ?? "").pathname, "/v1/health");
});

scenario("a device that was revoked while it was away learns it when it comes back", async (s) => {
  const phone = await s.paired({ label: "Lost phone" });
  phone.tolerate(CUT_OFF);
  s.tunnel.cut();
  await phone.connection("reconnecting").waitFor();
  await s.daemon.json("revoke", "Lost phone", "--yes");
  s.tunnel.mend();
  await phone.message("revoked").waitFor();
  assert.deepEqual(await phone.credentials(), []);
});

scenario("a revoked browser pairs again by a new offer", async (s) => {
  const phone = await s.paired({ label: "Lost phone" });
  phone.tolerate(CUT_OFF);
  await s.daemon.json("revoke", "Lost phone", "--yes");
  await phone.message("revoked").waitFor();
  const code = await askToPair(phone, await offer(s.daemon), "Found phone");
  await s.daemon.json("approve", code, "--role", "viewer");
  await phone.page.waitForURL(`${s.origin}/`);
  await phone.connection("live").waitFor();
});

/** @param {string} output */
function numbers(output) {
  // What follows the last line feed may be half a number.
  return output.slice(0, output.lastIndexOf("\n")).split("\r\n").filter(Boolean).map(Number);
}

/** @param {string} output */
function lastNumber(output) {
  return numbers(output).at(-1) ?? 0;
}

/** @param {string} output */
function assertEveryNumber(output) {
  const seen = numbers(output);
  assert.deepEqual(seen, seen.map((_, at) => at + 1));
}

/** What the browser itself says of streams that the daemon resets, and of a refused request. */
const CUT_OFF = /net::ERR_|WebSocket connection|status of 401/;
/** Prints 1, 2, 3 and so on, two hundred a second. */
const COUNTER = "exec bash -c 'while :; do echo $((++i)); read -t 0.005; done'";
