import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { strings } from "../strings";
import { Confirm } from "../ui/dialog";
import { Bin, Download, Frame, More, Stop } from "../ui/icons";
import { placePopover } from "../ui/popover";
import { download, remove, stop } from "./actions";
import type { Controls } from "./controls";
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
        <ViewItems controls={controls} types={writes && runs} />
        {writes && runs && (
          <Item popover={popover} act={() => (holds ? attachment.yield() : controls.claim())} icon={<Frame />}>
            {holds ? strings.terminal.yield : strings.terminal.claim}
          </Item>
        )}
        <Item popover={popover} act={() => void download(session, name, controls.failure)} icon={<Download />}>
          {strings.terminal.download}
        </Item>
        {writes && runs && (
          <Item popover={popover} act={() => (asks.value = "stop")} icon={<Stop />} bad>
            {strings.terminal.stop}
          </Item>
        )}
        {writes && (
          <Item popover={popover} act={() => (asks.value = "delete")} icon={<Bin />} bad>
            {strings.terminal.delete}
          </Item>
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

function Item(props: { popover: string; act: () => void; icon: ComponentChildren; bad?: boolean; children: ComponentChildren }) {
  return (
    <button type="button" class={props.bad ? "item bad" : "item"} popovertarget={props.popover} popovertargetaction="hide" onClick={props.act}>
      {props.icon}
      {props.children}
    </button>
  );
}
