import assert from "node:assert/strict";
import { Attachment } from "./support/attachment.mjs";
import { DESKTOP } from "./support/browser.mjs";
import { shellAfter } from "./support/daemon.mjs";
import { scenario } from "./support/scenario.mjs";

scenario("a viewer sees what a writer sees, and has nothing to type with", async (s) => {
  await s.daemon.session("shared", shellAfter("\\033[35mfirst\\033[0m\\r\\n"));
  const writer = await s.watching("shared", { label: "Writer" });
  const viewer = await s.watching("shared", { label: "Viewer", role: "viewer", profile: DESKTOP });
  await viewer.terminal.shows("first");
  await writer.terminal.compose("echo seen-by-$((1+1))");
  await writer.terminal.shows("seen-by-2");
  await viewer.terminal.showsExactly(await writer.terminal.atPrompt());

  assert.ok(await viewer.device.page.getByText("View only").isVisible());
  assert.equal(await viewer.device.page.getByLabel("Type a line").count(), 0);
  assert.equal(await viewer.device.page.getByRole("toolbar").count(), 0);
  await viewer.device.page.getByRole("button", { name: "1 other is here" }).click();
  await viewer.device.page.getByText("Writer").waitFor();
  await viewer.device.page.keyboard.press("Escape");
  await viewer.device.page.getByRole("button", { name: "Actions" }).click();
  await viewer.device.page.getByRole("button", { name: "Download recording" }).waitFor();
  for (const action of ["Fit session", "Stop program", "Delete session"]) {
    assert.equal(await viewer.device.page.getByRole("button", { name: action }).count(), 0);
  }
  await viewer.device.page.keyboard.press("Escape");
  await viewer.terminal.type("echo typed-by-the-viewer");
  await writer.terminal.compose("echo typed-by-the-writer");
  await viewer.terminal.shows(/^typed-by-the-writer$/);
  assert.ok(!(await viewer.terminal.text()).join("\n").includes("typed-by-the-viewer"));
});

scenario("what a viewer's token sends as input never reaches the program", async (s) => {
  const session = await s.daemon.session("echo", "stty raw -echo; exec cat");
  const owner = await Attachment.ofOwner(s.daemon, session.id, "mode=write&from=screen");
  const viewer = await s.paired({ role: "viewer" });
  for (const mode of ["view", "write", "lossless"]) {
    const forged = await Attachment.ofDevice(s.origin, await viewer.access(), session.id, `mode=${mode}&from=screen`);
    forged.type(1, `forged-in-${mode}`);
    await Promise.race([forged.settled(), forged.closed]);
    forged.close();
  }
  owner.type(1, "<typed by the owner>");
  await owner.until(() => owner.output.includes("<typed by the owner>"));
  assert.ok(!owner.output.includes("forged"), owner.output);
});

scenario("a page of a viewer that sends input by script is not obeyed", async (s) => {
  const session = await s.daemon.session("echo", "stty raw -echo; exec cat");
  const owner = await Attachment.ofOwner(s.daemon, session.id, "mode=write&from=screen");
  const viewer = await s.paired({ role: "viewer" });
  const codes = await viewer.page.evaluate(forge, { token: await viewer.access(), session: session.id });
  assert.deepEqual(codes, { write: 4403 });
  owner.type(1, "<typed by the owner>");
  await owner.until(() => owner.output.includes("<typed by the owner>"));
  assert.ok(!owner.output.includes("forged"), owner.output);
});

/**
 * Runs in the page: asks to write with a viewer's token, sends input all the same, and tells how that ended.
 * @param {{ token: string, session: string }} means
 * @returns {Promise<{ write: number }>}
 */
function forge({ token, session }) {
  return new Promise((resolve) => {
    const socket = new WebSocket(`wss://${location.host}/v1/sessions/${session}/attach?mode=write&from=screen`);
    socket.onopen = () => {
      socket.send(token);
      socket.send(new Uint8Array([0x10, 0, 0, 0, 0, 0, 0, 0, 1, ...new TextEncoder().encode("forged")]));
    };
    socket.onclose = ({ code }) => resolve({ write: code });
  });
}
