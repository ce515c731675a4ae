import { useSignal, type Signal } from "@preact/signals";
import { useContext, useEffect, useRef } from "preact/hooks";
import { isWaiting } from "../connection/machine";
import type { Connection } from "../connection/connection";
import { useConnection } from "../connection/use";
import { ending, list } from "../home/list";
import { asDevice, type Authority } from "../keys/access";
import { strings } from "../strings";
import { focusOnArrival } from "../ui/arrival";
import { Back, Eye } from "../ui/icons";
import { Ended, Message, ReloadButton } from "../ui/message";
import { Status } from "../ui/status";
import { TileContext } from "../ui/tile";
import { TileButtons } from "../ui/tile-buttons";
import { duration } from "../ui/time";
import type { Exit, Hello } from "../protocol";
import { ChooseKeys } from "./choose-keys";
import { Compose } from "./compose";
import type { Controls } from "./controls";
import { Find } from "./find";
import { draftOf } from "./inputs";
import { KeyBar } from "./keybar";
import { Menu } from "./menu";
import { Notices } from "./notices";
import { PresenceChip } from "./presence";
import { NoSocket } from "./no-socket";
import { ViewToggle } from "./view-toggle";
import { useVisibleArea } from "./viewport";

/** `/s/<id>`: one session's terminal, full height; or one of several, each in its tile. */
export function SessionPage({ id }: { id: string }) {
  const scroller = useRef<HTMLDivElement>(null);
  const host = useRef<HTMLDivElement>(null);
  const controls = useSignal<Controls | "failed" | null>(null);
  const tile = useContext(TileContext);
  const isFocused = tile?.isFocused ?? true;
  useVisibleArea();
  useEffect(() => void (tile === null && focusOnArrival()), []);
  useEffect(() => open(id, host.current, scroller.current, controls), [id]);
  const ready = controls.value === "failed" ? null : controls.value;
  const connection = useConnection(ready?.attachment.link ?? null, ready?.attachment.ping);
  const hello = ready?.attachment.hello.value ?? null;
  const name = hello?.name ?? list.value?.get(id)?.name ?? "";
  useEffect(() => {
    if (isFocused) document.title = name === "" ? strings.product : `${name} · ${strings.product}`;
  }, [name, isFocused]);
  useEffect(() => {
    const takesKeys = tile !== null || hello?.mode === "write";
    if (isFocused && hello && takesKeys && matchMedia("(pointer: fine)").matches) ready?.focus();
  }, [hello?.mode, tile?.calls]);

  const state = connection?.state.value;
  if (controls.value === "failed") return <LoadFailed />;
  const isLost = state?.kind === "ended" && state.reason === "lost";
  if (state?.kind === "ended" && state.reason !== "finished" && state.reason !== "lost") return <Ended reason={state.reason} said={state.said} />;
  const exit = ready?.attachment.exit.value ?? null;
  const stale = state !== undefined && isWaiting(state);
  const hasNoSocket = stale && state.why === "no_socket";
  const Root = tile ? "div" : "main";
  return (
    <Root class="terminal-page">
      <TopBar id={id} name={name} connection={connection} hello={hello} controls={ready} />
      <div class="stage">
        {ready?.isFinding.value && <Find controls={ready} isOpen={ready.isFinding} />}
        <div class={stale ? "scroller stale" : "scroller"} ref={scroller}>
          <div class="host" ref={host} />
          {!hello && !hasNoSocket && <p class="quiet appears overlay">{strings.terminal.opening}</p>}
        </div>
        {ready?.lookBack.looking.value === "reading" && <p class="reading appears">{strings.terminal.reading}</p>}
        {!hello && hasNoSocket && <NoSocket />}
        {ready && <Notices controls={ready} isLive={state?.kind === "live"} />}
        {ready?.isChoosingKeys.value && <ChooseKeys isOpen={ready.isChoosingKeys} />}
      </div>
      {exit && <ExitBar exit={exit} />}
      {isLost && <LostBar />}
      {ready && hello?.mode === "write" && !exit && !isLost && (
        <div class="typing">
          <KeyBar modifiers={ready.modifiers} press={(key) => ready.tap(key)} paste={() => void ready.paste()} />
          <Compose draft={draftOf(id)} send={(text) => ready.sendLine(text)} press={(character) => ready.pressCharacter(character)} />
        </div>
      )}
    </Root>
  );
}

interface TopBarProps {
  id: string;
  name: string;
  connection: Connection | null;
  hello: Hello | null;
  controls: Controls | null;
}

function TopBar({ id, name, connection, hello, controls }: TopBarProps) {
  const tile = useContext(TileContext);
  const Heading = tile ? "h2" : "h1";
  return (
    <header class="bar">
      {!tile && (
        <a class="square" href="/" aria-label={strings.backToSessions}>
          <Back />
        </a>
      )}
      <div class="bar-title">
        <Heading tabIndex={-1}>{name}</Heading>
        {connection && <Status connection={connection} meter={controls?.attachment.meter} />}
      </div>
      {hello?.mode === "view" && (
        <span class="chip">
          <Eye />
          {strings.terminal.viewOnly}
        </span>
      )}
      {hello && controls && <PresenceChip hello={hello} presence={controls.attachment.presence.value} />}
      <ViewToggle controls={controls} />
      {hello && controls && <Menu session={id} name={name} controls={controls} writes={hello.mode === "write"} />}
      {tile && <TileButtons tile={tile} />}
    </header>
  );
}

/** How the program ended. */
export function ExitBar({ exit }: { exit: Exit }) {
  const how =
    exit.code !== null
      ? strings.terminal.exitedWith(exit.code)
      : exit.signal !== null
        ? strings.terminal.killedBy(exit.signal)
        : strings.terminal.ended;
  return (
    <p class="exit" role="status" data-exit={exit.code ?? "none"} data-ending={ending(exit)}>
      {how} {strings.terminal.after(duration(exit.duration_ms))}
    </p>
  );
}

/** Nobody knows how it ended. */
export function LostBar() {
  return (
    <p class="exit" role="status" data-exit="lost">
      {strings.terminal.lost}
    </p>
  );
}

/** The terminal's code did not come. */
export function LoadFailed() {
  return (
    <Message kind="load_failed" title={strings.terminal.loadFailed}>
      <ReloadButton />
    </Message>
  );
}

/** Loads the terminal's code and makes the controls; returns what takes them away again. */
export function open(
  id: string,
  host: HTMLElement | null,
  scroller: HTMLElement | null,
  controls: Signal<Controls | "failed" | null>,
  authority: Authority = asDevice,
): () => void {
  let left = false;
  const load = async (): Promise<void> => {
    const { Controls } = await import("./controls");
    if (!left && host && scroller) controls.value = new Controls(id, host, scroller, authority);
  };
  load().catch(() => (controls.value = "failed"));
  return () => {
    left = true;
    const made = controls.peek();
    controls.value = null;
    if (made && made !== "failed") made.dispose();
  };
}
