import type { ComponentChildren } from "preact";
import { strings } from "../strings";
import { Close } from "./icons";

interface NoticeProps {
  children: ComponentChildren;
  /** Tells it from the others, for whoever looks for it in the page. */
  kind?: string;
  /** Whether it is for information only. */
  quiet?: boolean;
  dismiss?: (() => void) | undefined;
  act?: (() => void) | undefined;
  action?: string;
}

/** A sentence that a person has to know now, with what can be done about it. */
export function Notice({ children, kind, quiet = false, dismiss, act, action }: NoticeProps) {
  return (
    <div class={quiet ? "notice quiet-notice" : "notice"} role={quiet ? "status" : "alert"} data-notice={kind}>
      <p>{children}</p>
      {act && (
        <button type="button" class="notice-action" onClick={act}>
          {action}
        </button>
      )}
      {dismiss && (
        <button type="button" class="square" aria-label={strings.terminal.dismiss} onClick={dismiss}>
          <Close />
        </button>
      )}
    </div>
  );
}
