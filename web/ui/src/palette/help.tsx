import { useEffect, useId, useRef } from "preact/hooks";
import { strings } from "../strings";
import { Keys } from "../ui/keys";
import { isHelpOpen } from "./state";

/** All keys of the app. */
export function Help() {
  return isHelpOpen.value ? <Open /> : null;
}

/** What is pressed, and what that does. */
export function Shortcuts() {
  return (
    <dl class="shortcuts">
      {strings.palette.shortcuts.map(({ keys, does, follows }) => (
        <div key={does}>
          <dt>
            {follows && <span class="hint">{strings.palette.then} </span>}
            <Keys keys={keys} />
          </dt>
          <dd>{does}</dd>
        </div>
      ))}
    </dl>
  );
}

function Open() {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="dialog help" aria-labelledby={heading} onClose={() => (isHelpOpen.value = false)}>
      <form method="dialog">
        <h2 id={heading}>{strings.palette.actions.help}</h2>
        <Shortcuts />
        <p class="hint">{strings.palette.why}</p>
        <button class="button quiet-button">{strings.palette.shut}</button>
      </form>
    </dialog>
  );
}
