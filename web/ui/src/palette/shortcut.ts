import { isForInputMethod } from "../ui/composing";
import { openPalette } from "./state";

/**
 * Follows the app's one keyboard shortcut, Ctrl+Shift+Space: it opens the palette, and everything else is a key in
 * there. One is all that can be had without taking it from somebody:
 *
 * - A program gets none for it. Terminals have no code for Ctrl+Shift+Space (Ctrl+Space is NUL, and stays the
 *   program's) unless a program asked for the codes of all keys. Alt and a letter is ESC and that letter, Ctrl+Shift and
 *   an arrow is CSI 1;6 A, function keys have codes in every combination, and Ctrl+Shift with the keys of `@ ^ _` is how
 *   those control characters are typed.
 * - No browser has it. Of Ctrl+Shift and a letter, Chrome, Edge, Firefox and Safari together leave F alone, which
 *   terminals use to find; most with Alt or the Command key is theirs or the system's.
 *
 * By `code`, so that it is the same key in every layout. Heard before the terminal's own field hears it.
 */
export function followShortcut(isAvailable: () => boolean): void {
  const press = (event: KeyboardEvent): void => {
    if (!isShortcut(event) || !isAvailable()) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (event.repeat) return;
    const shown = document.querySelector<HTMLDialogElement>("dialog[open]");
    // Closed by itself, it gives the focus back. A question that is open is to be answered first.
    if (shown?.matches(".palette")) shown.close();
    else if (!shown) openPalette();
  };
  window.addEventListener("keydown", press, { capture: true });
}

/** Whether these keys are the shortcut's. */
export function isShortcut(event: Pick<KeyboardEvent, "code" | "ctrlKey" | "shiftKey" | "altKey" | "metaKey" | "isComposing" | "keyCode">): boolean {
  const { code, ctrlKey, shiftKey, altKey, metaKey } = event;
  return code === "Space" && ctrlKey && shiftKey && !altKey && !metaKey && !isForInputMethod(event);
}
