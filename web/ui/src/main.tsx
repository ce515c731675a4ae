import { effect } from "@preact/signals";
import { render } from "preact";
import { App } from "./app";
import { startWorkspace } from "./desktop/workspace";
import { keepInstallOffer } from "./install/install";
import { device, verdict } from "./keys/access";
import { followShortcut } from "./palette/shortcut";
import { followHistory, route } from "./router";
import { keepInputs } from "./terminal/inputs";
import { keepShell } from "./worker/register";
import "./ui/tokens.css";
import "./ui/base.css";
import "./ui/screens.css";
import "./ui/terminal.css";
import "./ui/desktop.css";

/** Milliseconds. */
const SHELL_DELAY = 1_500;

followHistory();
keepInputs();
keepInstallOffer();
// A device comes back, so the shell is kept for it; after the first screen, which it would only slow down.
effect(() => {
  if (device.value) setTimeout(() => void keepShell(), SHELL_DELAY);
});
startWorkspace();
followShortcut(() => !verdict.peek() && (route.peek().kind === "home" || route.peek().kind === "session"));
const root = document.getElementById("app");
if (root) render(<App />, root);
