import type { ComponentChildren } from "preact";
import { strings } from "../strings";
import { Clip, Glass, Keys, Voice } from "../ui/icons";
import type { Controls } from "./controls";

/** The entries of the menu that change nothing but this page. */
export function ViewItems({ controls, types }: { controls: Controls; types: boolean }) {
  const isRead = controls.readsAloud.value;
  return (
    <>
      <Entry act={() => (controls.isFinding.value = true)} icon={<Glass />}>
        {strings.terminal.find}
      </Entry>
      {types && (
        <Entry act={() => void controls.paste()} icon={<Clip />}>
          {strings.terminal.paste}
        </Entry>
      )}
      {types && (
        <Entry act={() => (controls.isChoosingKeys.value = true)} icon={<Keys />}>
          {strings.terminal.chooseKeys}
        </Entry>
      )}
      <Entry act={() => controls.readAloud(!isRead)} icon={<Voice />} isOn={isRead}>
        {strings.terminal.screenReader}
      </Entry>
    </>
  );
}

function Entry(props: { act: () => void; icon: ComponentChildren; isOn?: boolean; children: ComponentChildren }) {
  return (
    <button
      type="button"
      class="item"
      {...(props.isOn === undefined ? {} : { "aria-pressed": props.isOn })}
      onClick={({ currentTarget }) => {
        currentTarget.closest<HTMLElement>("[popover]")?.hidePopover();
        props.act();
      }}
    >
      {props.icon}
      {props.children}
    </button>
  );
}
