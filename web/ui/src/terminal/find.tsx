import { useSignal, type Signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { strings } from "../strings";
import { isForInputMethod } from "../ui/composing";
import { Arrow, Close } from "../ui/icons";
import type { Controls } from "./controls";
import type { Found } from "./look-back";

/** Looks for a text in the screen and in what was printed before, from the lower end up. */
export function Find({ controls, isOpen }: { controls: Controls; isOpen: Signal<boolean> }) {
  const field = useRef<HTMLInputElement>(null);
  const found = useSignal<Found | "searching" | "none" | null>(null);
  /** One search at a time; what was asked for meanwhile comes behind it. */
  const searching = useRef(false);
  const next = useRef<"up" | "down" | null>(null);
  const { lookBack } = controls;
  // Before the next key, which is for the search already.
  useLayoutEffect(() => field.current?.focus(), []);
  const go = async (step: "up" | "down"): Promise<void> => {
    const text = field.current?.value ?? "";
    if (text === "") return;
    if (searching.current) return void (next.current = step);
    const before = found.peek();
    found.value = "searching";
    searching.current = true;
    const answer = await lookBack.find(text, step);
    searching.current = false;
    const wanted = next.current;
    next.current = null;
    if (wanted) {
      found.value = null;
      return go(wanted);
    }
    // At an end, the last place stays what is shown.
    found.value = answer ?? (before !== null && typeof before === "object" ? before : "none");
  };
  const close = (): void => {
    isOpen.value = false;
    controls.toLive();
  };
  return (
    <form
      class="find"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        void go("up");
      }}
      onKeyDown={(event) => {
        if (isForInputMethod(event)) return;
        if (event.key === "Escape") close();
        if (event.key === "Enter" && event.shiftKey) {
          event.preventDefault();
          void go("down");
        }
      }}
    >
      <input
        ref={field}
        type="search"
        enterkeyhint="search"
        autocapitalize="off"
        autocomplete="off"
        spellcheck={false}
        aria-label={strings.terminal.find}
        placeholder={strings.terminal.find}
        onInput={() => {
          found.value = null;
          lookBack.findAnew();
        }}
      />
      <output class="find-count">{told(found.value)}</output>
      <button type="button" class="square" aria-label={strings.terminal.findUp} onClick={() => void go("up")}>
        <Arrow turn={0} />
      </button>
      <button type="button" class="square" aria-label={strings.terminal.findDown} onClick={() => void go("down")}>
        <Arrow turn={180} />
      </button>
      <button type="button" class="square" aria-label={strings.terminal.findEnd} onClick={close}>
        <Close />
      </button>
    </form>
  );
}

function told(found: Found | "searching" | "none" | null): string {
  if (found === null) return "";
  if (found === "searching") return strings.terminal.searching;
  if (found === "none") return strings.terminal.notFound;
  return strings.terminal.foundAt(found.place, found.of, found.hasOlder);
}
