import { useSignal, type Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { health } from "../api/client";
import { device, verdict } from "../keys/access";
import { load } from "../keys/store";
import { navigate } from "../router";
import { strings } from "../strings";
import { HomeLink, Message } from "../ui/message";
import { pair, type PairingState } from "./flow";
import { cleanLabel, defaultLabel, LABEL_LENGTH } from "./label";
import { parseOffer, type Offer } from "./offer";
import { Progress } from "./progress";

/** `/pair`: an offer's link becomes a paired device. */
export function Pairing() {
  const offer = useSignal<Offer | "malformed" | null>(null);
  const state = useSignal<PairingState | null>(null);
  const formerLabel = useSignal<string | null>(null);
  const run = useSignal<AbortController | null>(null);
  const stop = (): void => {
    run.peek()?.abort();
    state.value = null;
  };
  useEffect(() => followOffers(offer, stop), []);
  useEffect(() => void recallLabel(formerLabel), []);
  useEffect(() => stop, []);

  if (offer.value === "malformed") return <Malformed />;
  if (offer.value === null) return <NoOffer label={formerLabel.value} />;
  if (state.value) return <Progress state={state.value} />;
  const begin = (label: string): void => {
    if (!offer.value || offer.value === "malformed") return;
    run.value = new AbortController();
    void pair(offer.value, label, (now) => arrive(state, now), run.value.signal);
  };
  return <Form formerLabel={formerLabel.value} begin={begin} />;
}

function Form({ formerLabel, begin }: { formerLabel: string | null; begin: (label: string) => void }) {
  const label = useSignal(defaultLabel(navigator.userAgent));
  const clean = cleanLabel(label.value);
  return (
    <Message kind="pair_form" title={strings.pair.title} text={strings.pair.intro(location.host)}>
      <ol class="steps">
        {strings.pair.steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (clean !== "") begin(clean);
        }}
      >
        <label for="label">{strings.pair.label}</label>
        <input
          id="label"
          value={label.value}
          maxLength={LABEL_LENGTH}
          autocomplete="off"
          spellcheck={false}
          enterkeyhint="go"
          aria-describedby="label-hint"
          onInput={(event) => (label.value = event.currentTarget.value)}
        />
        <p id="label-hint" class="hint">
          {strings.pair.labelHint}
        </p>
        {formerLabel !== null && <p class="banner">{strings.pair.replaces(formerLabel)}</p>}
        <button class="button" type="submit" disabled={clean === ""}>
          {strings.pair.button}
        </button>
      </form>
      <p class="hint">{strings.pair.certificate}</p>
    </Message>
  );
}

function NoOffer({ label }: { label: string | null }) {
  if (label !== null) {
    return (
      <Message kind="pair_already" title={strings.pair.pairedTitle} text={strings.pair.pairedAlready(label)}>
        <HomeLink />
      </Message>
    );
  }
  const text = `${strings.pair.noOfferText} ${strings.pair.again}`;
  return <Message kind="pair_no_offer" title={strings.pair.noOfferTitle} text={text} command={strings.pair.command} />;
}

function Malformed() {
  return <Message kind="pair_malformed" title={strings.pair.malformedTitle} text={strings.pair.malformedText} />;
}

/**
 * Takes the offer out of the address bar before anything else happens, so that neither history nor a screenshot
 * keeps it; another link opened in the same tab only changes the fragment, so that is watched too.
 */
function followOffers(offer: Signal<Offer | "malformed" | null>, stopFormer: () => void): () => void {
  const take = (): void => {
    const fragment = location.hash;
    if (fragment === "" || fragment === "#") return;
    history.replaceState(null, "", location.pathname);
    stopFormer();
    offer.value = parseOffer(fragment) ?? "malformed";
  };
  take();
  window.addEventListener("hashchange", take);
  return () => window.removeEventListener("hashchange", take);
}

function arrive(shown: Signal<PairingState | null>, now: PairingState): void {
  if (now.kind !== "paired") {
    shown.value = now;
    return;
  }
  verdict.value = null;
  navigate("/", "replace");
}

async function recallLabel(label: Signal<string | null>): Promise<void> {
  try {
    label.value = device.peek()?.label ?? (await load((await health()).instance))?.label ?? null;
  } catch {
    // Without an answer there is nothing to recall; pairing itself will say what is wrong.
  }
}
