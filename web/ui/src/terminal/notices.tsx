import type { Signal } from "@preact/signals";
import { useContext, useEffect } from "preact/hooks";
import { dismissOutdated, isOutdated } from "../connection/build";
import { strings } from "../strings";
import { Copy, Down } from "../ui/icons";
import { Notice } from "../ui/notice";
import { TileContext } from "../ui/tile";
import type { Controls } from "./controls";
import { keepFocus } from "./keybar";

/** What a person has to know now, over the lower end of the screen, so that nothing is laid out anew for it. */
export function Notices({ controls, isLive }: { controls: Controls; isLive: boolean }) {
  const { attachment, failure, input, lookBack, note, offered, selected, tooMuch } = controls;
  const claim = attachment.claim.value;
  // Beside a list that is the list's to say.
  const isAlone = useContext(TileContext) === null;
  // Read only where it is said: each key changes it twice.
  const waiting = isLive ? 0 : input.unconfirmed.value;
  const doubtful = attachment.inDoubt.value;
  const looking = lookBack.looking.value;
  return (
    <div class="notices">
      {(looking === "back" || selected.value) && (
        <div class="pills">
          {selected.value && (
            <button type="button" class="pill quiet-pill" onPointerDown={keepFocus} onClick={() => void controls.copy()}>
              <Copy />
              {strings.terminal.copy}
            </button>
          )}
          <button type="button" class="pill" onPointerDown={keepFocus} onClick={() => controls.toLive()}>
            <Down />
            {strings.terminal.backToLive}
          </button>
        </div>
      )}
      {note.value !== null && <Passing note={note} />}
      {looking === "failed" && <Notice dismiss={() => (lookBack.looking.value = "live")}>{strings.terminal.readingFailed}</Notice>}
      {claim?.taken_from && (
        <Notice quiet dismiss={() => (attachment.claim.value = { ...claim, taken_from: false })} act={() => controls.claim()} action={strings.terminal.takeBack}>
          {strings.terminal.taken(claim.by)}
        </Notice>
      )}
      {isAlone && isOutdated.value && (
        <Notice quiet act={() => location.reload()} action={strings.outdated.reload} dismiss={dismissOutdated}>
          {strings.outdated.text}
        </Notice>
      )}
      {offered.value !== null && (
        <Notice quiet dismiss={() => (offered.value = null)} act={() => void controls.takeOffered()} action={strings.terminal.copy}>
          {strings.terminal.clipboardOffered}
        </Notice>
      )}
      {failure.value !== null && <Notice dismiss={() => (failure.value = null)}>{failure.value}</Notice>}
      {tooMuch.value && <Notice dismiss={() => (tooMuch.value = false)}>{strings.terminal.tooMuch}</Notice>}
      {doubtful !== null && <Notice dismiss={() => (attachment.inDoubt.value = null)}>{strings.terminal.inDoubt(doubtful)}</Notice>}
      {waiting > 0 && <Notice quiet>{strings.terminal.waiting(waiting)}</Notice>}
    </div>
  );
}

/** Said, and gone again by itself. */
function Passing({ note }: { note: Signal<string | null> }) {
  useEffect(() => {
    const timer = setTimeout(() => (note.value = null), PASSING);
    return () => clearTimeout(timer);
  }, [note.value]);
  return (
    <p class="toast" role="status">
      {note.value}
    </p>
  );
}

/** Milliseconds: long enough to read a sentence. */
const PASSING = 3_000;
