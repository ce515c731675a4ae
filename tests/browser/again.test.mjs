import { PHONE } from "./support/browser.mjs";
import { askToPair, codeOf, offer } from "./support/pairing.mjs";
import { scenario } from "./support/scenario.mjs";

/** @typedef {import("./support/scenario.mjs").Scenario} Scenario */
/** @typedef {import("./support/device.mjs").Device} Device */

/** What a person does in an installed app, which no camera opens: paste the next offer's link where the page stands. @param {Scenario} s @param {Device} device */
async function paste(s, device) {
  await device.page.getByLabel("Or paste the link that it prints").fill(s.origin + (await offer(s.daemon)));
  await device.page.getByRole("button", { name: "Open the offer" }).tap();
  await device.message("pair_form").waitFor();
}

scenario("where a pairing ended, the next offer can be pasted", async (s) => {
  const phone = await s.open(PHONE);
  await phone.goto("/pair#ofr_0123456789abcdef.cut");
  await phone.message("pair_malformed").waitFor();
  await paste(s, phone);

  await s.daemon.json("reject", await askToPair(phone, await offer(s.daemon), "Phone"));
  await phone.message("pair_rejected").waitFor();
  await paste(s, phone);
  await phone.page.getByRole("button", { name: "Pair this device" }).tap();
  await s.daemon.json("approve", await codeOf(phone), "--role", "viewer");
  await phone.connection("live").waitFor();
});

scenario("where a device's trust ended, the next offer can be pasted", async (s) => {
  const phone = await s.paired({ label: "Lost phone" });
  phone.tolerate(/net::ERR_|status of 401/);
  await s.daemon.json("revoke", "Lost phone", "--yes");
  await phone.message("revoked").waitFor();
  await paste(s, phone);
  await phone.page.getByRole("button", { name: "Pair this device" }).tap();
  await s.daemon.json("approve", await codeOf(phone), "--role", "viewer");
  await phone.connection("live").waitFor();

  await phone.page.route(/\/v1\/whoami$/, (route) =>
    route.fulfill({ status: 401, contentType: "application/problem+json", body: JSON.stringify({ code: "invalid_token", title: "", detail: "", hint: "" }) }),
  );
  await phone.page.reload();
  await phone.message("unrecognised").waitFor();
  await paste(s, phone);
});
