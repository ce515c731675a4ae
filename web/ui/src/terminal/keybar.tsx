import type { Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { strings } from "../strings";
import { Arrow } from "../ui/icons";
import { barKeys, recallKeys, type BarKey } from "./bar-keys";
import type { Press } from "./keys";
import { tapped, type Modifiers } from "./modifiers";

interface KeyBarProps {
  modifiers: Signal<Modifiers>;
  press: (key: Press) => void;
  paste: () => void;
}

/** Keys that an on-screen keyboard lacks. */
export function KeyBar({ modifiers, press, paste }: KeyBarProps) {
  useEffect(recallKeys, []);
  return (
    <div class="keybar" role="toolbar" aria-label={strings.terminal.keys} onPointerDown={keepFocus}>
      {barKeys.value.map((key) => {
        const { does } = key;
        if (does === "paste") return <Key key={key.id} shown={key} act={paste} />;
        if ("modifier" in does) return <Sticky key={key.id} which={does.modifier} modifiers={modifiers} />;
        return <Key key={key.id} shown={key} act={() => press(does.press)} />;
      })}
    </div>
  );
}

function Key({ shown, act }: { shown: BarKey; act: () => void }) {
  return (
    <button type="button" aria-label={shown.name} onClick={act}>
      {shown.turn === undefined ? shown.label : <Arrow turn={shown.turn} />}
    </button>
  );
}

function Sticky({ which, modifiers }: { which: keyof Modifiers; modifiers: Signal<Modifiers> }) {
  const stickiness = modifiers.value[which];
  const name = strings.terminal[which];
  return (
    <button
      type="button"
      aria-pressed={stickiness !== "off"}
      aria-label={`${name} ${strings.terminal.stickiness[stickiness]}`.trim()}
      data-sticky={stickiness}
      onClick={() => (modifiers.value = { ...modifiers.value, [which]: tapped(stickiness) })}
    >
      {name}
    </button>
  );
}

/** A tap leaves the focus where it is, so that the on-screen keyboard stays. */
export function keepFocus(event: PointerEvent): void {
  event.preventDefault();
}
