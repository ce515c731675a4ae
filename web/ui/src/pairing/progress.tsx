import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { Problem } from "../protocol";
import { strings } from "../strings";
import { Ended, Message } from "../ui/message";
import { sentence } from "../ui/reason";
import { EnterOffer } from "./enter";
import type { PairingState } from "./flow";

/** A pairing under way, or how it ended. */
export function Progress({ state, again }: { state: PairingState; again: () => void }) {
  switch (state.kind) {
    case "asking":
      return <Message kind="pair_asking" title={strings.pair.title} text={strings.pair.asking} />;
    case "comparing":
      return <Compare code={state.code} reachable={state.reachable} stays={state.stays} />;
    case "approved":
    case "paired":
      return <Message kind="pair_approved" title={strings.pair.title} text={strings.pair.approved} />;
    case "rejected":
      return <Rejection cause={state.cause} />;
    case "expired":
      return <Over kind="pair_expired" title={strings.pair.expiredTitle} text={strings.pair.expiredText} />;
    case "unreachable":
      return <Over kind="pair_unreachable" title={strings.pair.unreachableTitle} text={strings.pair.unreachableText} />;
    case "storage_unavailable":
      return <Message kind="pair_storage" title={strings.pair.storageTitle} text={strings.pair.storageText} />;
    case "refused":
      return <Refusal problem={state.problem} again={again} />;
  }
}

function Compare({ code, reachable, stays }: { code: string; reachable: boolean; stays: boolean | null }) {
  return (
    <Message kind="pair_compare" title={strings.pair.compareTitle} text={strings.pair.compareText}>
      <output class="code" aria-label={strings.pair.codeLabel} data-code={code}>
        {code}
      </output>
      <p class="waiting" role="status">
        <span class="spinner" aria-hidden="true" />
        {reachable ? strings.pair.waiting : strings.pair.waitingCut}
      </p>
      {stays !== null && <p class="hint">{stays ? strings.device.install.stays : strings.device.install.mayGo}</p>}
    </Message>
  );
}

function Rejection({ cause }: { cause: string | null }) {
  const over = strings.pair.overText[cause ?? ""];
  if (over !== undefined) return <Over kind={`pair_${cause}`} title={strings.pair.overTitle} text={over} />;
  return <Over kind="pair_rejected" title={strings.pair.rejectedTitle} text={strings.pair.rejectedText} />;
}

/** The daemon's own words for what went wrong; kinds that a person can act on get a title of ours. */
function Refusal({ problem, again }: { problem: Problem; again: () => void }) {
  const { code } = problem;
  if (problem.status === 429) return <TooOften seconds={problem.retry_after ?? FALLBACK_WAIT} again={again} />;
  if (code === "wrong_host") return <Ended reason="wrong_host" />;
  if (code === "unknown_request") return <Over kind="pair_expired" title={strings.pair.expiredTitle} text={strings.pair.forgottenText} />;
  if (code === "unknown_offer" || code.startsWith("offer_")) {
    return <Over kind={code} title={strings.pair.offerTitle} text={`${sentence(problem.detail)} ${strings.pair.offerText}`} />;
  }
  return <Over kind={code} title={strings.pair.refusedTitle} text={`${sentence(problem.detail)} ${sentence(problem.hint)}`.trim()} />;
}

/** There were too many tries, from here or from elsewhere: the offer is still good, and its time is said. */
function TooOften({ seconds, again }: { seconds: number; again: () => void }) {
  const until = useMemo(() => performance.now() + seconds * 1000, [seconds]);
  const left = useSignal(seconds);
  useEffect(() => {
    const timer = setInterval(() => (left.value = Math.max(0, Math.ceil((until - performance.now()) / 1000))), 500);
    return () => clearInterval(timer);
  }, [until]);
  return (
    <Message kind="pair_too_often" title={strings.pair.tooOftenTitle} text={strings.pair.tooOftenText}>
      <button type="button" class="button" disabled={left.value > 0} onClick={again}>
        {left.value > 0 ? strings.pair.againIn(left.value) : strings.pair.tryAgain}
      </button>
    </Message>
  );
}

/** An installed app has no camera that opens a link in it: the next offer's can be pasted. */
function Over({ kind, title, text }: { kind: string; title: string; text: string }) {
  return (
    <Message kind={kind} title={title} text={`${text} ${strings.pair.again}`} command={strings.pair.command}>
      <EnterOffer />
    </Message>
  );
}

/** Seconds, where the daemon names none. */
const FALLBACK_WAIT = 60;
