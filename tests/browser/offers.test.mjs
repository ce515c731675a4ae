import assert from "node:assert/strict";
import { PHONE } from "./support/browser.mjs";
import { askToPair, offer } from "./support/pairing.mjs";
import { scenario } from "./support/scenario.mjs";

scenario("a rejected device is told so, and holds nothing", async (s) => {
  const phone = await s.open();
  const code = await askToPair(phone, await offer(s.daemon), "Unwanted");
  await s.daemon.json("reject", code);
  await phone.message("pair_rejected").waitFor();
  assert.deepEqual(await phone.credentials(), []);
  await phone.goto("/");
  await phone.message("unpaired").waitFor();
});

scenario("a used offer pairs nobody else", async (s) => {
  const link = await offer(s.daemon);
  const first = await s.open();
  const code = await askToPair(first, link, "First");
  await s.daemon.json("approve", code, "--role", "viewer");
  await first.page.waitForURL(`${s.origin}/`);

  const second = await s.open();
  second.tolerate(/status of 4\d\d/);
  await submit(second, link);
  await second.page.getByText("This offer does not work").waitFor();
  assert.equal((await s.daemon.json("devices")).length, 1);
  await first.connection("live").waitFor();
});

scenario("a withdrawn offer and an invented one are dead links", async (s) => {
  const link = await offer(s.daemon);
  const [{ id }] = await s.daemon.api("GET", "/v1/pairing/offers");
  await s.daemon.api("DELETE", `/v1/pairing/offers/${id}`);
  for (const dead of [link, link.replace(id, "ofr_0123456789abcdef")]) {
    const phone = await s.open();
    phone.tolerate(/status of 4\d\d/);
    await submit(phone, dead);
    await phone.page.getByText("This offer does not work").waitFor();
  }
});

scenario(
  "an offer that has expired is a dead link",
  async (s) => {
    const link = await offer(s.daemon);
    const isOver = async () => (await s.daemon.api("GET", "/v1/pairing/offers"))[0]?.state !== "open";
    while (!(await isOver()));
    const phone = await s.open();
    phone.tolerate(/status of 4\d\d/);
    await submit(phone, link);
    await phone.page.getByText("This offer does not work").waitFor();
    await phone.page.getByText("expired").waitFor();
  },
  { config: '[pairing]\noffer_ttl = "1s"\n' },
);

scenario(
  "a request that the owner leaves lying ends on the page",
  async (s) => {
    const phone = await s.open();
    await askToPair(phone, await offer(s.daemon), "Patient");
    await phone.message("pair_expired").waitFor();
    assert.deepEqual(await phone.credentials(), []);
  },
  { config: '[pairing]\nrequest_ttl = "2s"\n' },
);

scenario("a request whose offer is withdrawn meanwhile ends on the page", async (s) => {
  const phone = await s.open();
  await askToPair(phone, await offer(s.daemon), "Too late");
  const [{ id }] = await s.daemon.api("GET", "/v1/pairing/offers");
  await s.daemon.api("DELETE", `/v1/pairing/offers/${id}`);
  await phone.message("pair_offer_withdrawn").waitFor();
  assert.deepEqual(await phone.credentials(), []);
});

scenario("a link that was cut short says so", async (s) => {
  const phone = await s.open();
  await phone.goto((await offer(s.daemon)).slice(0, -5));
  await phone.message("pair_malformed").waitFor();
  assert.equal(phone.page.url(), `${s.origin}/pair`);
});

scenario("a page loaded again in the middle of a pairing says where to begin", async (s) => {
  const phone = await s.open();
  await askToPair(phone, await offer(s.daemon), "Impatient");
  await phone.page.reload();
  await phone.message("pair_no_offer").waitFor();
  await phone.page.getByText("transom pair").waitFor();
});

scenario("a browser that is not paired is told how to become so", async (s) => {
  const phone = await s.open();
  await phone.goto("/");
  await phone.message("unpaired").waitFor();
  await phone.goto("/s/ses_0123456789abcdef");
  await phone.message("unpaired").waitFor();
  await phone.goto("/s/nowhere");
  await phone.message("unknown_page").waitFor();
});

scenario("the daemon does not answer to a name that is not its own", async (s) => {
  const phone = await s.openUntrusted({ ...PHONE, ignoreHTTPSErrors: true }, ["--host-resolver-rules=MAP other.test 127.0.0.1"]);
  phone.tolerate(/status of 403|foreign request: https:\/\/other\.test/);
  const answer = await phone.page.goto(`https://other.test:${s.tunnel.port}/`);
  assert.equal(answer?.status(), 403);
  const said = await phone.page.locator("body").innerText();
  assert.match(said, /this daemon is not called by that host name/);
  assert.match(said, /listen\.names/);
});

/** Opens a link and presses the button. @param {import("./support/device.mjs").Device} device @param {string} link */
async function submit(device, link) {
  await device.goto(link);
  await device.page.getByRole("button", { name: "Pair this device" }).click();
}
