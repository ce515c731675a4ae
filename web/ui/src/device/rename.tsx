import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import { renameSelf } from "../api/client";
import { device, refresh } from "../keys/access";
import { bearerOf } from "../keys/proof";
import { cleanLabel, LABEL_LENGTH } from "../pairing/label";
import type { DeviceRecord } from "../protocol";
import { strings } from "../strings";
import { reasonOf } from "../ui/reason";

/** Asks for another name for this device. */
export function Rename({ record, isOpen }: { record: Signal<DeviceRecord | null>; isOpen: Signal<boolean> }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const label = useSignal(record.peek()?.label ?? "");
  const failed = useSignal<string | null>(null);
  const isBusy = useSignal(false);
  const [heading, field, hint] = [useId(), useId(), useId()];
  useEffect(() => {
    dialog.current?.showModal();
    dialog.current?.querySelector("input")?.select();
  }, []);
  const save = async (): Promise<void> => {
    const credential = device.peek();
    if (!credential) return;
    isBusy.value = true;
    failed.value = null;
    try {
      record.value = await renameSelf(bearerOf(credential), { label: cleanLabel(label.peek()) });
      dialog.current?.close();
      // Kept here too; where that does not work now, the next round trip does it.
      refresh(credential, AbortSignal.timeout(PATIENCE)).catch(() => undefined);
    } catch (error) {
      failed.value = reasonOf(error);
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={heading} onClose={() => (isOpen.value = false)}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <h2 id={heading}>{strings.device.rename}</h2>
        <label for={field}>{strings.pair.label}</label>
        <input
          id={field}
          type="text"
          value={label.value}
          maxLength={LABEL_LENGTH}
          autocomplete="off"
          spellcheck={false}
          enterkeyhint="done"
          aria-describedby={hint}
          onInput={(event) => (label.value = event.currentTarget.value)}
        />
        <p id={hint} class="hint">
          {strings.pair.labelHint}
        </p>
        {failed.value !== null && (
          <p class="banner" role="alert">
            {strings.device.notRenamed} {failed.value}
          </p>
        )}
        <div class="dialog-buttons">
          <button type="button" class="button quiet-button" onClick={() => dialog.current?.close()}>
            {strings.terminal.cancel}
          </button>
          <button class="button" disabled={isBusy.value || cleanLabel(label.value) === ""}>
            {strings.device.saveName}
          </button>
        </div>
      </form>
    </dialog>
  );
}

/** Milliseconds. */
const PATIENCE = 10_000;
