import { useSignal } from "@preact/signals";
import { strings } from "../strings";

/** Copies an offer's link, for the place where it is to be opened; it is in the address bar no more. */
export function CopyLink({ link }: { link: string }) {
  const copied = useSignal<"yes" | "no" | null>(null);
  const copy = (): void => {
    const copying = navigator.clipboard?.writeText(link) ?? Promise.reject(new Error("no clipboard"));
    copying.then(() => (copied.value = "yes"), () => (copied.value = "no"));
  };
  return (
    <>
      <button type="button" class="button" onClick={copy}>
        {copied.value === "yes" ? strings.pair.copied : strings.pair.copy}
      </button>
      {copied.value === "no" && <p class="command">{link}</p>}
    </>
  );
}
