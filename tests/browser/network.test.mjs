import assert from "node:assert/strict";
import { Attachment } from "./support/attachment.mjs";
import { DESKTOP } from "./support/browser.mjs";
import { shellAfter } from "./support/daemon.mjs";
import { scenario } from "./support/scenario.mjs";

scenario("after a cut the screen is right and every key was typed once", async (s) => {
  await s.daemon.session("shell", shellAfter(""));
  const phone = await s.watching("shell", { label: "Phone" });
  const laptop = await s.watching("shell", { label: "Laptop", profile: DESKTOP });
  for (const { device } of [phone, laptop]) device.tolerate(CUT);
  await phone.terminal.compose("count=0");
  await phone.terminal.compose("count=$((count+1)); echo before-$count");
  await phone.terminal.shows("before-1");

  s.tunnel.cut();
  await phone.device.connection("reconnecting").waitFor();
  await phone.terminal.compose("count=$((count+100))");
  await phone.device.page.getByText("Not connected: what you typed was not sent.").waitFor();
  assert.equal(await phone.device.page.getByLabel("Type a line").inputValue(), "count=$((count+100))");
  s.tunnel.mend();
  await phone.device.connection("live").waitFor();

  await phone.terminal.compose("count=$((count+1)); echo after-$count");
  await phone.terminal.shows("after-2");
  await laptop.terminal.showsExactly(await phone.terminal.atPrompt());
});

scenario("output that was printed while the network was away is on the screen, once", async (s) => {
  const session = await s.daemon.session("shell", shellAfter(""));
  const { device, terminal } = await s.watching("shell");
  device.tolerate(CUT);
  await terminal.shows("$");
  s.tunnel.cut();
  await device.connection("reconnecting").waitFor();
  const owner = await Attachment.ofOwner(s.daemon, session.id, "mode=write&from=screen");
  owner.type(1, "seq 1 15; echo the-$((1+0))-end\r");
  await owner.until(() => owner.output.includes("the-1-end"));
  s.tunnel.mend();
  await terminal.shows("the-1-end");
  const numbers = (await terminal.text()).filter((row) => /^\d+$/.test(row)).map(Number);
  assert.deepEqual(numbers, Array.from({ length: 15 }, (_, at) => at + 1));
});

scenario("a browser without a network says offline, and is live again when it is back", async (s) => {
  await s.daemon.session("shell", shellAfter(""));
  const { device, terminal } = await s.watching("shell");
  device.tolerate(CUT);
  await device.page.context().setOffline(true);
  s.tunnel.cut();
  await device.connection("offline").waitFor();
  s.tunnel.mend();
  await device.page.context().setOffline(false);
  await device.connection("live").waitFor();
  await terminal.compose("echo back-$((40+2))");
  await terminal.shows("back-42");
});

/** What the browser itself says of connections that are cut. */
const CUT = /net::ERR_|WebSocket connection/;
