import type { RefObject } from "preact";
import { strings } from "../strings";
import type { Divider } from "./tiles";
import { share } from "./workspace";

/** The line between two halves: pulled by a pointer, or moved by the arrow keys. */
export function DividerLine({ divider, area }: { divider: Divider; area: RefObject<HTMLElement | null> }) {
  const { halves, place, path } = divider;
  const isUpright = halves.side === "right";
  const pull = (event: PointerEvent): void => {
    const whole = area.current?.getBoundingClientRect();
    if (!whole || !(event.currentTarget as Element).hasPointerCapture(event.pointerId)) return;
    const x = ((event.clientX - whole.left) / whole.width - place.left) / place.width;
    const y = ((event.clientY - whole.top) / whole.height - place.top) / place.height;
    share(path, isUpright ? x : y);
  };
  const move = (event: KeyboardEvent): void => {
    const step = (isUpright ? STEPS_ACROSS : STEPS_DOWN)[event.key];
    if (step === undefined) return;
    event.preventDefault();
    share(path, halves.share + step);
  };
  const at = isUpright ? place.left + place.width * halves.share : place.top + place.height * halves.share;
  return (
    <div
      class="divider"
      role="separator"
      tabIndex={0}
      aria-label={strings.desktop.divider}
      aria-orientation={isUpright ? "vertical" : "horizontal"}
      aria-valuenow={Math.round(halves.share * 100)}
      style={
        isUpright
          ? { left: `${at * 100}%`, top: `${place.top * 100}%`, height: `${place.height * 100}%` }
          : { top: `${at * 100}%`, left: `${place.left * 100}%`, width: `${place.width * 100}%` }
      }
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={pull}
      onDblClick={() => share(path, 0.5)}
      onKeyDown={move}
    />
  );
}

const STEPS_ACROSS: Partial<Record<string, number>> = { ArrowLeft: -0.05, ArrowRight: 0.05 };
const STEPS_DOWN: Partial<Record<string, number>> = { ArrowUp: -0.05, ArrowDown: 0.05 };
