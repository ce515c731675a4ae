import type { Signal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import { strings } from "../strings";
import { ALL_KEYS, barKeys, chooseKeys, MOST_KEYS, type BarKey } from "./bar-keys";

/** Which keys the bar has: a tap takes one away, or puts one at the end. */
export function ChooseKeys({ isOpen }: { isOpen: Signal<boolean> }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => dialog.current?.showModal(), []);
  const chosen = barKeys.value.map(({ id }) => id);
  const isFull = chosen.length >= MOST_KEYS;
  const others = ALL_KEYS.filter(({ id }) => !chosen.includes(id));
  return (
    <dialog class="dialog key-dialog" ref={dialog} aria-labelledby={heading} onClose={() => (isOpen.value = false)}>
      <h2 id={heading}>{strings.terminal.chooseKeys}</h2>
      <p>{isFull ? strings.terminal.keysFull : strings.terminal.chooseKeysText}</p>
      <div class="key-list" role="group" aria-label={strings.terminal.keysShown}>
        {barKeys.value.map((key) => (
          <Choice key={key.id} shown={key} isOn act={() => chooseKeys(chosen.filter((id) => id !== key.id))} isDisabled={chosen.length === 1} />
        ))}
      </div>
      <div class="key-list" role="group" aria-label={strings.terminal.keysHidden}>
        {others.map((key) => (
          <Choice key={key.id} shown={key} isOn={false} act={() => chooseKeys([...chosen, key.id])} isDisabled={isFull} />
        ))}
      </div>
      <div class="dialog-buttons">
        <button type="button" class="button quiet-button" onClick={() => chooseKeys([])}>
          {strings.terminal.usualKeys}
        </button>
        <button type="button" class="button" onClick={() => dialog.current?.close()}>
          {strings.terminal.done}
        </button>
      </div>
    </dialog>
  );
}

function Choice({ shown, isOn, act, isDisabled }: { shown: BarKey; isOn: boolean; act: () => void; isDisabled: boolean }) {
  return (
    <button type="button" aria-label={shown.name} aria-pressed={isOn} disabled={isDisabled} onClick={act}>
      {shown.label}
    </button>
  );
}
