import { useEffect, useId, useRef } from "preact/hooks";
import { strings } from "../strings";

interface ConfirmProps {
  title: string;
  text: string;
  /** What the button says that does it. */
  action: string;
  /** Hears once whether it is to be done. */
  answer: (yes: boolean) => void;
}

/** Asks before something that cannot be taken back at once; the safe answer has the focus. */
export function Confirm({ title, text, action, answer }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={heading} onClose={() => answer(dialog.current?.returnValue === "yes")}>
      <form method="dialog">
        <h2 id={heading}>{title}</h2>
        <p>{text}</p>
        <div class="dialog-buttons">
          <button class="button quiet-button" value="no">
            {strings.terminal.cancel}
          </button>
          <button class="button bad-button" value="yes">
            {action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
