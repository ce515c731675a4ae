import { useId } from "preact/hooks";
import type { Hello, Presence } from "../protocol";
import { strings } from "../strings";
import { Eye, People } from "../ui/icons";
import { placePopover } from "../ui/popover";

/** How many others are here, and on a tap who of them may type; nothing where nobody is. */
export function PresenceChip({ hello, presence }: { hello: Hello; presence: Presence | null }) {
  const popover = useId();
  const { viewers, writers } = presence ?? hello;
  const others = viewers + writers - 1;
  if (others <= 0) return null;
  const typing = presence?.typing ?? [];
  const watching = viewers - (hello.mode === "write" ? 0 : 1);
  return (
    <>
      <button type="button" class="square others" popovertarget={popover} aria-label={strings.terminal.presence(others)}>
        <People />
        <span aria-hidden="true">{others}</span>
      </button>
      <div id={popover} class="popover presence" popover="auto" onBeforeToggle={placePopover}>
        <h2>{strings.terminal.here}</h2>
        <ul>
          {typing.map((name, at) => (
            <li key={at}>
              <span class="presence-name">{name}</span>
              <span class="quiet">{at === 0 && hello.mode === "write" ? strings.terminal.you : strings.terminal.mayType}</span>
            </li>
          ))}
          {watching > 0 && (
            <li>
              <Eye />
              <span>{strings.terminal.viewers(watching)}</span>
            </li>
          )}
        </ul>
      </div>
    </>
  );
}
