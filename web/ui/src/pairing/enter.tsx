import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { navigate } from "../router";
import { strings } from "../strings";
import { parseOffer } from "./offer";

/** Takes an offer's link that was copied, where no camera opens it: an installed app's own window. */
export function EnterOffer() {
  const text = useSignal("");
  const isWrong = useSignal(false);
  const field = useId();
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const fragment = fragmentOf(text.value);
        isWrong.value = parseOffer(fragment) === null;
        if (isWrong.value) return;
        // The pairing screen itself hears of another fragment.
        if (location.pathname === "/pair") location.hash = fragment;
        else navigate(`/pair${fragment}`);
      }}
    >
      <label for={field}>{strings.pair.paste}</label>
      <input
        id={field}
        value={text.value}
        type="url"
        inputMode="url"
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        placeholder="https://…/pair#…"
        aria-invalid={isWrong.value}
        onInput={(event) => (text.value = event.currentTarget.value)}
      />
      {isWrong.value && (
        <p class="banner" role="alert">
          {strings.pair.malformedText}
        </p>
      )}
      <button type="submit" class="button quiet-button" disabled={text.value.trim() === ""}>
        {strings.pair.open}
      </button>
    </form>
  );
}

/** From the `#` on; the rest of the link may lead here by another name. */
function fragmentOf(link: string): string {
  const at = link.indexOf("#");
  return at < 0 ? "" : link.slice(at).trim();
}
