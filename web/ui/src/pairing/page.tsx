import { useSignal, type Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { health } from "../api/client";
import { isStandalone, systemOf } from "../install/install";
import { device, verdict } from "../keys/access";
import { load } from "../keys/store";
import { navigate } from "../router";
import { strings } from "../strings";
import { Command, HomeLink, Message } from "../ui/message";
import { keepShell, shell } from "../worker/register";
import { CopyLink } from "./copy";
import { EnterOffer } from "./enter";
import { pair, type PairingState } from "./flow";
import { cleanLabel, defaultLabel, LABEL_LENGTH } from "./label";
import { parseOffer, type Offer } from "./offer";
import { Progress } from "./progress";
import { thisWindow, type WindowKind } from "./window";

/** `/pair`: an offer's link becomes a paired device. */
export function Pairing() {
  const offer = useSignal<Offer | "malformed" | null>(null);
  const state = useSignal<PairingState | null>(null);
  const formerLabel = useSignal<string | null>(null);
  const run = useSignal<AbortController | null>(null);
  const kind = useSignal<WindowKind | null>(null);
  const insists = useSignal(false);
  useEffect(() => void thisWindow().then((is) => (kind.value = is)), []);
  const stop = (): void => {
    run.peek()?.abort();
    state.value = null;
  };
  useEffect(() => followOffers(offer, stop), []);
  useEffect(() => void recallLabel(formerLabel), []);
  useEffect(() => stop, []);

  if (offer.value === "malformed") return <Malformed />;
  if (offer.value === null) return <NoOffer label={formerLabel.value} />;
  if (state.value) return <Progress state={state.value} again={() => (state.value = null)} />;
  // Nobody is to fill in, and send, what a window that forgets the key is about to be warned of.
  if (kind.value === null) return <Message kind="pair_looking" title={strings.pair.title} />;
  if (kind.value !== "browser" && !insists.value) {
    return <OtherWindow kind={kind.value} link={linkOf(offer.value)} insist={() => (insists.value = true)} />;
  }
  const begin = (label: string, replace: boolean): void => {
    if (!offer.value || offer.value === "malformed") return;
    run.value = new AbortController();
    void pair(offer.value, label, (now) => arrive(state, now), run.value.signal, replace);
  };
  return <Form formerLabel={formerLabel.value} begin={begin} link={linkOf(offer.value)} />;
}

/** A window that would not keep the key: nothing is claimed there, unless a person knows better. */
function OtherWindow({ kind, link, insist }: { kind: Exclude<WindowKind, "browser">; link: string; insist: () => void }) {
  const { title, text } = strings.pair.windows[kind];
  return (
    <Message kind={`pair_${kind}`} title={title} text={text}>
      <CopyLink link={link} />
      <button type="button" class="button quiet-button" onClick={insist}>
        {strings.pair.insist}
      </button>
    </Message>
  );
}

interface FormProps {
  formerLabel: string | null;
  begin: (label: string, replace: boolean) => void;
  /** The offer's link, to be opened elsewhere. */
  link: string;
}

function Form({ formerLabel, begin, link }: FormProps) {
  const replace = useSignal(true);
  useEffect(() => void keepShell(), []);
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
          if (clean !== "") begin(clean, formerLabel !== null && replace.value);
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
        {formerLabel !== null && (
          <div class="banner">
            <p>{strings.pair.replaces(formerLabel)}</p>
            <label class="agreed">
              <input type="checkbox" checked={replace.value} onChange={(event) => (replace.value = event.currentTarget.checked)} />
              {strings.pair.replaceOld(formerLabel)}
            </label>
          </div>
        )}
        <button class="button" type="submit" disabled={clean === ""}>
          {strings.pair.button}
        </button>
      </form>
      {shell.value === "untrusted" ? <Untrusted /> : <p class="hint">{strings.pair.certificate}</p>}
      {isPhoneTab() && shell.value === "kept" && (
        <details class="hint">
          <summary>{strings.pair.installFirst}</summary>
          <p>{strings.pair.installHow}</p>
          <CopyLink link={link} />
        </details>
      )}
    </Message>
  );
}

/** What works where the certificate is not trusted, what does not, and the ways out. */
function Untrusted() {
  return (
    <details class="hint" data-certificate="untrusted">
      <summary>{strings.pair.untrusted}</summary>
      <p>{strings.pair.untrustedText}</p>
      <ul>
        {strings.terminal.waysOut.map((way) => (
          <li key={way}>{way}</li>
        ))}
      </ul>
      <Command text={strings.terminal.trustCommand} />
    </details>
  );
}

/** On iOS an installed app has storage of its own: what a tab pairs, the app does not have. */
function isPhoneTab(): boolean {
  return systemOf(navigator.userAgent, navigator.maxTouchPoints) === "ios" && !isStandalone();
}

function linkOf({ id, secret, pin }: Offer): string {
  return `${location.origin}/pair#${id}.${secret}.${pin}`;
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
  return (
    <Message kind="pair_no_offer" title={strings.pair.noOfferTitle} text={text} command={strings.pair.command}>
      <EnterOffer />
    </Message>
  );
}

function Malformed() {
  return (
    <Message kind="pair_malformed" title={strings.pair.malformedTitle} text={strings.pair.malformedText}>
      <EnterOffer />
    </Message>
  );
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
