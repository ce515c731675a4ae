import { strings } from "../strings";
import { Clip, Glass, Keys, Voice } from "../ui/icons";
import type { Controls } from "./controls";
import { MenuItem } from "./menu-item";

/** The entries of the menu that change nothing but this page. */
export function ViewItems({ controls, types }: { controls: Controls; types: boolean }) {
  const isRead = controls.readsAloud.value;
  return (
    <>
      <MenuItem act={() => (controls.isFinding.value = true)} icon={<Glass />}>
        {strings.terminal.find}
      </MenuItem>
      {types && (
        <MenuItem act={() => void controls.paste()} icon={<Clip />}>
          {strings.terminal.paste}
        </MenuItem>
      )}
      {types && (
        <MenuItem act={() => (controls.isChoosingKeys.value = true)} icon={<Keys />}>
          {strings.terminal.chooseKeys}
        </MenuItem>
      )}
      <MenuItem act={() => controls.readAloud(!isRead)} icon={<Voice />} isOn={isRead}>
        {strings.terminal.screenReader}
      </MenuItem>
    </>
  );
}
