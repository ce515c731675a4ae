import type { Signal } from "@preact/signals";
import { strings } from "../strings";
import { Arrow } from "../ui/icons";
import type { Press } from "./keys";
import { named, tapped, type Modifiers } from "./modifiers";

/** Keys that an on-screen keyboard lacks. */
export function KeyBar({ modifiers, press }: { modifiers: Signal<Modifiers>; press: (key: Press) => void }) {
  return (
    <div class="keybar" role="toolbar" aria-label={strings.terminal.keys} onPointerDown={keepFocus}>
      <Key name={strings.terminal.escape} press={() => press(named("Escape"))} />
      <Key name={strings.terminal.tab} press={() => press(named("Tab"))} />
      <Sticky which="ctrl" modifiers={modifiers} />
      <Sticky which="alt" modifiers={modifiers} />
      <Key name={strings.terminal.arrows.left} turn={-90} press={() => press(named("ArrowLeft"))} />
      <Key name={strings.terminal.arrows.down} turn={180} press={() => press(named("ArrowDown"))} />
      <Key name={strings.terminal.arrows.up} turn={0} press={() => press(named("ArrowUp"))} />
      <Key name={strings.terminal.arrows.right} turn={90} press={() => press(named("ArrowRight"))} />
    </div>
  );
}

function Key({ name, turn, press }: { name: string; turn?: number; press: () => void }) {
  return (
    <button type="button" aria-label={name} onClick={press}>
      {turn === undefined ? name : <Arrow turn={turn} />}
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
