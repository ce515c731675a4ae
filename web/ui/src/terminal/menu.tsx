import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { isWide } from "../desktop/workspace";
import { openPalette } from "../palette/state";
import { strings } from "../strings";
import { Confirm } from "../ui/dialog";
import { Bin, Download, Frame, GoTo, More, Stop } from "../ui/icons";
import { placePopover } from "../ui/popover";
import { download, remove, stop } from "./actions";
import type { Controls } from "./controls";
import { MenuItem } from "./menu-item";
import { ViewItems } from "./view-items";

interface MenuProps {
  session: string;
  name: string;
  controls: Controls;
  /** Whether this device may type and manage. */
  writes: boolean;
}

/** What can be done with a session besides looking and typing. */
export function Menu({ session, name, controls, writes }: MenuProps) {
  // What was seen when the question came up is what is answered, whatever the daemon and the session have become since.
  const asks = useSignal<{ act: "stop" | "delete"; name: string; life: string | null } | null>(null);
  const popover = useId();
  const { attachment } = controls;
  const ask = (act: "stop" | "delete"): void => void (asks.value = { act, name, life: attachment.hello.peek()?.life ?? null });
  const asked = asks.value;
  const runs = attachment.exit.value === null;
  const holds = attachment.claim.value?.holder === true;
  return (
    <>
      <button type="button" class="square menu-button" popovertarget={popover} aria-label={strings.terminal.actions} title={strings.terminal.actions}>
        <More />
      </button>
      <div id={popover} class="popover menu" popover="auto" onBeforeToggle={placePopover}>
        {!isWide.value && (
          <MenuItem act={openPalette} icon={<GoTo />}>
            {strings.palette.button}
          </MenuItem>
        )}
        <ViewItems controls={controls} types={writes && runs} />
        {writes && runs && (
          <MenuItem act={() => (holds ? attachment.yield() : controls.claim())} icon={<Frame />}>
            {holds ? strings.terminal.yield : strings.terminal.claim}
          </MenuItem>
        )}
        <MenuItem act={() => void download(session, name, controls.failure)} icon={<Download />}>
          {strings.terminal.download}
        </MenuItem>
        {writes && runs && (
          <MenuItem act={() => ask("stop")} icon={<Stop />} bad>
            {strings.terminal.stop}
          </MenuItem>
        )}
        {writes && (
          <MenuItem act={() => ask("delete")} icon={<Bin />} bad>
            {strings.terminal.delete}
          </MenuItem>
        )}
      </div>
      {asked?.act === "stop" && (
        <Confirm
          title={strings.terminal.stopTitle(asked.name)}
          text={strings.terminal.stopText}
          action={strings.terminal.stopIt}
          answer={(yes) => {
            asks.value = null;
            if (yes) void stop(session, asked.life, controls.failure);
          }}
        />
      )}
      {asked?.act === "delete" && (
        <Confirm
          title={strings.terminal.deleteTitle(asked.name)}
          text={strings.terminal.deleteText}
          action={strings.terminal.deleteIt}
          answer={(yes) => {
            asks.value = null;
            if (yes) void remove(session, asked.name, asked.life, controls.failure);
          }}
        />
      )}
    </>
  );
}
