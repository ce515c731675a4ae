import { useSignal, type Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { strings } from "../strings";
import { Message } from "../ui/message";
import { enter, forgetIfOver, type GuestState, type GuestView } from "./join";
import { parseGuestLink, type GuestLink } from "./link";
import { Watch } from "./watch";

/** `/guest`: an invitation's link shows a session, to look at. */
export function GuestPage() {
  const state = useSignal<GuestState>({ kind: "joining" });
  const link = useSignal<GuestLink | null>(null);
  const join = async (): Promise<void> => {
    state.value = { kind: "joining" };
    state.value = await enter(link.peek());
  };
  const end = (guest: GuestView, after: GuestState): void => {
    state.value = after;
    void forgetIfOver(after, guest.credential);
  };
  useEffect(() => followLinks(link, state, () => void join()), []);

  const now = state.value;
  if (now.kind === "watching") return <Watch guest={now.guest} over={(after) => end(now.guest, after)} />;
  if (now.kind === "refused") return <Message kind="guest_refused" title={strings.guest.refusedTitle} text={now.problem.detail} />;
  const [title, text] = WORDS[now.kind];
  return (
    <Message kind={`guest_${now.kind}`} title={title} {...(text ? { text } : {})}>
      {now.kind === "joining" && (
        <p class="waiting" role="status">
          <span class="spinner" aria-hidden="true" />
          {strings.guest.joining}
        </p>
      )}
      {(now.kind === "unreachable" || now.kind === "failed") && (
        <button type="button" class="button" onClick={() => void join()}>
          {strings.guest.again}
        </button>
      )}
    </Message>
  );
}

/** Takes the link out of the address bar: a secret has no place in history or on a shared screen. */
function followLinks(link: Signal<GuestLink | null>, state: Signal<GuestState>, join: () => void): () => void {
  const take = (): void => {
    const fragment = location.hash;
    history.replaceState(null, "", location.pathname);
    link.value = parseGuestLink(fragment);
    if (fragment.length > 1 && link.value === null) state.value = { kind: "malformed" };
    else join();
  };
  const again = (): void => {
    if (location.hash.length > 1) take();
  };
  take();
  window.addEventListener("hashchange", again);
  return () => window.removeEventListener("hashchange", again);
}

const WORDS: Record<Exclude<GuestState["kind"], "watching" | "refused">, [string, string?]> = {
  joining: [strings.guest.title],
  used: [strings.guest.usedTitle, strings.guest.usedText],
  ended: [strings.guest.endedTitle, strings.guest.endedText],
  expired: [strings.guest.expiredTitle, strings.guest.expiredText],
  left: [strings.guest.leftTitle, strings.guest.leftText],
  unknown: [strings.guest.unknownTitle, strings.guest.unknownText],
  none: [strings.guest.noneTitle, strings.guest.noneText],
  malformed: [strings.guest.malformedTitle, strings.guest.malformedText],
  storage: [strings.guest.storageTitle, strings.guest.storageText],
  failed: [strings.guest.refusedTitle, strings.guest.failedText],
  unreachable: [strings.guest.unreachableTitle, strings.guest.unreachableText],
};
