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
  const asks = useSignal<"stop" | "delete" | null>(null);
  const popover = useId();
  const { attachment } = controls;
  const life = attachment.hello.value?.life ?? null;
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
          <MenuItem act={() => (asks.value = "stop")} icon={<Stop />} bad>
            {strings.terminal.stop}
          </MenuItem>
        )}
        {writes && (
          <MenuItem act={() => (asks.value = "delete")} icon={<Bin />} bad>
            {strings.terminal.delete}
          </MenuItem>
        )}
      </div>
      {asks.value === "stop" && (
        <Confirm
          title={strings.terminal.stopTitle(name)}
          text={strings.terminal.stopText}
          action={strings.terminal.stopIt}
          answer={(yes) => {
            asks.value = null;
            if (yes) void stop(session, life, controls.failure);
          }}
        />
      )}
      {asks.value === "delete" && (
        <Confirm
          title={strings.terminal.deleteTitle(name)}
          text={strings.terminal.deleteText}
          action={strings.terminal.deleteIt}
          answer={(yes) => {
            asks.value = null;
            if (yes) void remove(session, name, life, controls.failure);
          }}
        />
      )}
    </>
  );
}
