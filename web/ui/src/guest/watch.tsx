import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Connection } from "../connection/connection";
import { useConnection } from "../connection/use";
import { isWaiting } from "../connection/machine";
import type { Authority } from "../keys/access";
import { strings } from "../strings";
import type { Controls } from "../terminal/controls";
import { Find } from "../terminal/find";
import { NoSocket } from "../terminal/no-socket";
import { Notices } from "../terminal/notices";
import { ExitBar, LoadFailed, LostBar, open } from "../terminal/page";
import { ViewToggle } from "../terminal/view-toggle";
import { useVisibleArea } from "../terminal/viewport";
import { Close, Eye } from "../ui/icons";
import { Ended } from "../ui/message";
import { Status } from "../ui/status";
import { duration, startTicking, tick } from "../ui/time";
import { afterTime, asGuest, leave, stateOfEnd, type GuestState, type GuestView } from "./join";

interface WatchProps {
  guest: GuestView;
  /** Hears how it ended. */
  over: (after: GuestState) => void;
}

/** What a guest looks at: one of its sessions at a time. */
export function Watch({ guest, over }: WatchProps) {
  const shown = useSignal(guest.sessions[0]?.id ?? "");
  const authority = useMemo(() => asGuest(guest), [guest]);
  const isLeaving = useRef(false);
  // Leaving closes the streams as well: what these say of it then, before the answer or after it, is not how it ended.
  const leaving = (): void => {
    isLeaving.current = true;
    void leave(guest).then(over);
  };
  const ended = (after: GuestState): void => {
    if (!isLeaving.current) over(after);
  };
  useEffect(startTicking, []);
  // The daemon closes at its second; this is for a page whose network is away. A timer stands still while the device sleeps.
  useEffect(() => {
    const ask = (): void => void afterTime(guest).then((after) => after && ended(after));
    const timer = setTimeout(ask, Math.max(0, guest.until.value - Date.now()) + GRACE);
    return () => clearTimeout(timer);
  }, [guest, guest.until.value, tick.value]);
  return (
    <Terminal
      key={shown.value}
      id={shown.value}
      guest={guest}
      authority={authority}
      over={ended}
      leave={leaving}
      choose={(id) => (shown.value = id)}
    />
  );
}

interface TerminalProps extends WatchProps {
  id: string;
  authority: Authority;
  leave: () => void;
  choose: (id: string) => void;
}

function Terminal({ id, guest, authority, over, leave, choose }: TerminalProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const host = useRef<HTMLDivElement>(null);
  const controls = useSignal<Controls | "failed" | null>(null);
  useVisibleArea();
  useEffect(() => open(id, host.current, scroller.current, controls, authority), [id]);
  const ready = controls.value === "failed" ? null : controls.value;
  const connection = useConnection(ready?.attachment.link ?? null, ready?.attachment.ping, (reason) => over(stateOfEnd(reason)));
  const hello = ready?.attachment.hello.value ?? null;
  const name = hello?.name ?? "";
  useEffect(() => void (document.title = name === "" ? strings.product : `${name} · ${strings.product}`), [name]);

  if (controls.value === "failed") return <LoadFailed />;
  const state = connection?.state.value;
  const isOver = state?.kind === "ended" && state.reason !== "finished" && state.reason !== "lost";
  if (isOver && guest.sessions.length < 2) return <Ended reason={state.reason as "gone"} />;
  const exit = ready?.attachment.exit.value ?? null;
  const stale = state !== undefined && isWaiting(state);
  const hasNoSocket = stale && state.why === "no_socket";
  return (
    <main class="terminal-page">
      <Bar id={id} name={name} guest={guest} connection={connection} controls={ready} leave={leave} choose={choose} />
      <div class="stage">
        {ready?.isFinding.value && <Find controls={ready} isOpen={ready.isFinding} />}
        <div class={stale ? "scroller stale" : "scroller"} ref={scroller}>
          <div class="host" ref={host} />
          {!hello && !hasNoSocket && <p class="quiet appears overlay">{strings.terminal.opening}</p>}
        </div>
        {!hello && hasNoSocket && <NoSocket />}
        {hello && ready && !ready.attachment.drawn.value && <p class="blank quiet">{strings.guest.blank}</p>}
        {ready?.lookBack.looking.value === "reading" && <p class="reading appears">{strings.terminal.reading}</p>}
        {ready && <Notices controls={ready} isLive={state?.kind === "live"} />}
      </div>
      {exit && <ExitBar exit={exit} />}
      {state?.kind === "ended" && state.reason === "lost" && <LostBar />}
    </main>
  );
}

interface BarProps {
  id: string;
  guest: GuestView;
  name: string;
  connection: Connection | null;
  controls: Controls | null;
  leave: () => void;
  choose: (id: string) => void;
}

function Bar({ id, name, guest, connection, controls, leave, choose }: BarProps) {
  return (
    <header class="bar guest-bar">
      <div class="bar-title">
        <h1>{name}</h1>
        {connection && <Status connection={connection} meter={controls?.attachment.meter} />}
      </div>
      {guest.sessions.length > 1 && (
        <select class="choice" aria-label={strings.guest.sessions} value={id} onChange={(event) => choose(event.currentTarget.value)}>
          {guest.sessions.map((session) => (
            <option key={session.id} value={session.id}>
              {session.id === id && name !== "" ? name : session.name}
            </option>
          ))}
        </select>
      )}
      <span class="chip" title={strings.terminal.viewOnly}>
        <Eye />
        <TimeLeft until={guest.until} />
      </span>
      <ViewToggle controls={controls} />
      <button type="button" class="square" aria-label={strings.guest.leave} title={strings.guest.leave} onClick={leave}>
        <Close />
      </button>
    </header>
  );
}

function TimeLeft({ until }: { until: Signal<number> }) {
  void tick.value;
  return <span>{strings.guest.left(duration(until.value - Date.now()))}</span>;
}

/** Milliseconds for the daemon's own word to come first. */
const GRACE = 3_000;
