import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import type { Connection } from "../connection/connection";
import type { ConnectionState } from "../connection/machine";
import type { Figures, Meter } from "../connection/meter";
import { strings } from "../strings";
import { placePopover } from "./popover";
import { clockTime } from "./time";

/** Where the connection stands, always on screen; changes are read out, round trips are not. A tap shows its figures. */
export function Status({ connection, meter, unit }: { connection: Connection; meter?: Meter | undefined; unit?: Unit }) {
  const id = `connection-${useId()}`;
  const state = connection.state.value;
  const trip = connection.roundTrip.value;
  return (
    <>
      <button type="button" class="status" data-connection={state.kind} popovertarget={id}>
        <span class="status-dot" aria-hidden="true" />
        <span aria-hidden="true">{state.kind === "live" && trip !== null ? strings.status.liveWith(trip) : wordsOf(state)}</span>
        <span class="visually-hidden">{strings.status.figures}</span>
      </button>
      <span class="visually-hidden" role="status">
        {wordsOf(state)}
      </span>
      <Overlay id={id} connection={connection} meter={meter ?? null} unit={unit ?? "bytes"} />
    </>
  );
}

/** What a meter's offsets count. */
export type Unit = "bytes" | "updates";

interface OverlayProps {
  id: string;
  connection: Connection;
  meter: Meter | null;
  unit: Unit;
}

/** The figures of a connection, measured while they are looked at. */
function Overlay({ id, connection, meter, unit }: OverlayProps) {
  const figures = useSignal<Figures | null>(null);
  const isOpen = useSignal(false);
  useEffect(() => {
    if (!isOpen.value) return;
    const measure = (): void => void (figures.value = meter?.figures(performance.now()) ?? null);
    measure();
    const timer = setInterval(measure, MEASURED_EVERY);
    return () => clearInterval(timer);
  }, [isOpen.value, meter]);
  const state = connection.state.value;
  const trip = connection.roundTrip.value;
  const words = strings.figures;
  const rows: [string, string][] = [
    [words.state, wordsOf(state)],
    ["attempt" in state ? words.attempt : words.roundTrip, "attempt" in state ? String(state.attempt) : trip === null ? words.none : words.milliseconds(trip)],
  ];
  const now = figures.value;
  if (now) {
    rows.push([words.updates, words.perSecond(now.perSecond)]);
    rows.push([words.toPaint, now.toPaint === null ? words.none : words.milliseconds(Math.round(now.toPaint))]);
    rows.push([words.waiting, unit === "bytes" ? words.bytes(now.waiting) : words.batches(now.waiting)]);
  }
  return (
    <div
      id={id}
      class="popover figures"
      popover="auto"
      role="dialog"
      aria-label={words.title}
      onBeforeToggle={placePopover}
      onToggle={(event) => (isOpen.value = event.newState === "open")}
    >
      <dl>
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/** A state in words. */
export function wordsOf(state: ConnectionState): string {
  if ("why" in state && state.why && state.kind !== "offline") return strings.status[state.why];
  switch (state.kind) {
    case "connecting":
      return strings.status.connecting;
    case "live":
      return strings.status.live;
    case "reconnecting":
      return strings.status.reconnecting(clockTime(state.since));
    case "offline":
      return strings.status.offline(clockTime(state.since));
    case "unreachable":
      return strings.status.unreachable;
    case "ended":
      return state.reason === "finished" ? strings.status.finished : strings.status.ended;
  }
}

/** Milliseconds. */
const MEASURED_EVERY = 500;
