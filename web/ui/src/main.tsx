import { render } from "preact";
import { App } from "./app";
import { followHistory } from "./router";
import { keepInputs } from "./terminal/inputs";
import "./ui/tokens.css";
import "./ui/base.css";
import "./ui/screens.css";
import "./ui/terminal.css";

followHistory();
keepInputs();
const root = document.getElementById("app");
if (root) render(<App />, root);
