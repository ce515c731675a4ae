import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { strings } from "../strings";
import { Readable, Whole } from "../ui/icons";
import type { Controls } from "./controls";
import type { View } from "./fit";

/** Changes how a session is looked at; kept for the next one that this browser shows. */
export function ViewToggle({ controls }: { controls: Controls | null }) {
  const view = useSignal<View>(recalledView());
  useEffect(() => {
    if (controls) controls.view = view.value;
    localStorage.setItem(VIEW_KEY, view.value);
  }, [controls, view.value]);
  useEffect(() => controls?.pinches.subscribe((count) => void (count > 0 && (view.value = "readable"))), [controls]);
  const isWhole = view.value === "whole";
  const other = isWhole ? strings.terminal.readable : strings.terminal.whole;
  return (
    <button type="button" class="square" aria-label={other} title={other} onClick={() => (view.value = isWhole ? "readable" : "whole")}>
      {isWhole ? <Readable /> : <Whole />}
    </button>
  );
}

/** How this browser looked at sessions last. */
function recalledView(): View {
  return localStorage.getItem(VIEW_KEY) === "readable" ? "readable" : "whole";
}

const VIEW_KEY = "transom.view";
