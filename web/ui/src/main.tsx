import { effect } from "@preact/signals";
import { render } from "preact";
import { App } from "./app";
import { keepInstallOffer } from "./install/install";
import { device } from "./keys/access";
import { followHistory } from "./router";
import { keepInputs } from "./terminal/inputs";
import { keepShell } from "./worker/register";
import "./ui/tokens.css";
import "./ui/base.css";
import "./ui/screens.css";
import "./ui/terminal.css";

/** Milliseconds. */
const SHELL_DELAY = 1_500;

followHistory();
keepInputs();
keepInstallOffer();
// A device comes back, so the shell is kept for it; after the first screen, which it would only slow down.
effect(() => {
  if (device.value) setTimeout(() => void keepShell(), SHELL_DELAY);
});
const root = document.getElementById("app");
if (root) render(<App />, root);
