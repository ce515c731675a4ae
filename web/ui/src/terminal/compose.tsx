import type { Signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { strings } from "../strings";
import { isForInputMethod } from "../ui/composing";
import { Send } from "../ui/icons";

interface ComposeProps {
  /** What is written and not sent yet; it outlives the field. */
  draft: Signal<string>;
  /** Sends a text and Enter; false where it could not be sent. */
  send: (text: string) => boolean;
  /** Takes a character as a key where a modifier of the key bar waits for one; false where none does. */
  press: (character: string) => boolean;
}

/** A real text field, so that suggestions, dictation and composition work; sends what it holds, and Enter. */
export function Compose({ draft: text, send, press }: ComposeProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    if (field.current && text.peek() !== "") fitHeight(field.current);
  }, [text]);
  const submit = (): void => {
    if (!send(text.value)) return;
    text.value = "";
    if (field.current) field.current.style.height = "";
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || isForInputMethod(event)) return;
    event.preventDefault();
    submit();
  };
  return (
    <form
      class="compose"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <textarea
        ref={field}
        rows={1}
        value={text.value}
        aria-label={strings.terminal.compose}
        placeholder={strings.terminal.compose}
        autocapitalize="off"
        autocomplete="off"
        enterkeyhint="send"
        onKeyDown={onKeyDown}
        onInput={({ currentTarget }) => {
          const character = addedCharacter(text.value, currentTarget.value);
          if (character !== null && press(character)) currentTarget.value = text.value;
          text.value = currentTarget.value;
          fitHeight(currentTarget);
        }}
      />
      <button type="submit" aria-label={strings.terminal.send} onPointerDown={(event) => event.preventDefault()}>
        <Send />
      </button>
    </form>
  );
}

function fitHeight(field: HTMLTextAreaElement): void {
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight + 2}px`;
}

/** The one character by which a text has grown, wherever that is; null where the change is another. */
export function addedCharacter(before: string, after: string): string | null {
  const [old, grown] = [[...before], [...after]];
  if (grown.length !== old.length + 1) return null;
  const at = grown.findIndex((character, index) => character !== old[index]);
  return grown.toSpliced(at, 1).join("") === before ? (grown[at] ?? null) : null;
}
