import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { installOffer, isStandalone, systemOf, wayToInstall } from "../install/install";
import { isPersistent, persist } from "../install/storage";
import { strings } from "../strings";
import { Command } from "../ui/message";
import { keepShell, shell } from "../worker/register";

/** Whether the app is on the home screen and its key stays, and what can be done for that. */
export function Install() {
  const stays = useSignal<boolean | null>(null);
  useEffect(() => void keepShell(), []);
  useEffect(() => void isPersistent().then((answer) => (stays.value = answer)), []);
  const system = systemOf(navigator.userAgent, navigator.maxTouchPoints);
  const way = wayToInstall({ isStandalone: isStandalone(), canPrompt: installOffer.value !== null, system, shell: shell.value });
  const words = strings.device.install;
  return (
    <section class="panel" data-install={way}>
      <h2>{words.title}</h2>
      <p>{words.ways[way]}</p>
      {way === "untrusted" && <Command text={strings.terminal.trustCommand} />}
      {way === "prompt" && (
        <button type="button" class="button" onClick={() => void installOffer.peek()?.prompt()}>
          {words.button}
        </button>
      )}
      <p data-stays={String(stays.value)}>{stays.value === null ? words.unknown : stays.value ? words.stays : words.mayGo}</p>
      {stays.value === false && (
        <button type="button" class="button quiet-button" onClick={() => void persist().then((answer) => (stays.value = answer))}>
          {words.persist}
        </button>
      )}
    </section>
  );
}
