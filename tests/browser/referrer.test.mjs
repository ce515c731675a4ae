import assert from "node:assert/strict";
import { shellAfter } from "./support/daemon.mjs";
import { askToPair, offer, partOfLink } from "./support/pairing.mjs";
import { scenario } from "./support/scenario.mjs";
import { Terminal } from "./support/terminal.mjs";

/** @typedef {import("./support/device.mjs").Device} Device */
/** @typedef {import("playwright-core").Request} Request */

/** Every request that a page makes from now on, of its frames and scripts too. @param {Device} device */
function watch(device) {
  /** @type {Request[]} */
  const seen = [];
  device.page.context().on("request", (request) => seen.push(request));
  return seen;
}

/** Nothing of the link is in what was sent, but for its own use in a body. @param {Request[]} seen @param {string} link */
async function assertSilent(seen, link) {
  const [, secret = ""] = link.split("#")[1]?.split(".") ?? [];
  assert.ok(secret.length >= 32, link);
  let withHeaders = 0;
  for (const request of seen) {
    const headers = await request.allHeaders();
    const sent = `${request.url()}\n${JSON.stringify(headers)}`;
    // Empty where the browser answered by itself and sent nothing.
    assert.equal(headers["referer"] ?? "", "", sent);
    // The address of a page keeps its fragment in the browser, which is not sent.
    assert.ok(!sent.replaceAll(link, "").includes(secret), sent);
    if (headers["user-agent"]) withHeaders += 1;
  }
  assert.ok(withHeaders >= 4, "the requests were seen as they were sent");
}

scenario("no request of a page says where it came from, nor what its link held", async (s) => {
  const device = await s.open();
  const seen = watch(device);
  const link = await offer(s.daemon);
  const code = await askToPair(device, link, "Test device");
  await s.daemon.json("approve", code);
  await device.connection("live").waitFor();
  await assertSilent(seen, link);

  await s.daemon.session("shared", shellAfter("first\\r\\n"));
  const [made] = await s.daemon.json("invite", "shared", "--for", "1h");
  const invitation = partOfLink(made.url);
  const guest = await s.open();
  const seenOfGuest = watch(guest);
  await guest.goto(invitation);
  await Terminal.ready(guest.page);
  await assertSilent(seenOfGuest, invitation);
});
