import { useEffect, useRef } from "preact/hooks";
import { useConnection } from "../connection/use";
import { followSessions, list, probeSessions } from "../home/list";
import { Sessions } from "../home/page";
import { Shortcuts } from "../palette/help";
import { askWhere, openPalette } from "../palette/state";
import { SessionPage } from "../terminal/page";
import { useVisibleArea } from "../terminal/viewport";
import { strings } from "../strings";
import { Search } from "../ui/icons";
import { Keys } from "../ui/keys";
import { Ended } from "../ui/message";
import { TileContext, type Side } from "../ui/tile";
import { DividerLine } from "./divider";
import { dividers, places, type Place } from "./tiles";
import { area, calls, close, enter, fits, focused, prune, tiles } from "./workspace";

/** `/` and `/s/<id>` where there is space: the list as a sidebar, and sessions side by side. */
export function Workspace() {
  const connection = useConnection(followSessions, probeSessions);
  useVisibleArea();
  const isLive = connection?.state.value.kind === "live";
  // What was deleted elsewhere leaves the screen; where the keys are, it says so instead, and leaves with them.
  useEffect(() => void (isLive && list.value && prune(new Set(list.value.keys()))), [isLive, list.value, focused.value]);
  useEffect(() => {
    if (focused.value === null) document.title = strings.product;
  }, [focused.value]);
  if (!connection) return null;
  const state = connection.state.value;
  if (state.kind === "ended" && state.reason !== "finished") return <Ended reason={state.reason} said={state.said} />;
  return (
    <div class="workspace">
      <nav class="sidebar" aria-label={strings.sessions} onClick={callFocused} onKeyDown={leaveByEscape}>
        <Sessions connection={connection} Body="div">
          <button type="button" class="palette-button" onClick={() => openPalette()} aria-keyshortcuts="Control+Shift+Space">
            <Search />
            <span>{strings.palette.button}</span>
            <Keys keys={strings.palette.chord} />
          </button>
        </Sessions>
      </nav>
      <main class="tiles">{tiles.value === null ? <NoTiles /> : <Tiled />}</main>
    </div>
  );
}

/** The sessions that are on the screen. All are children of one element, so that none starts anew when others move. */
function Tiled() {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => entry && (area.value = entry.contentRect));
    if (element.current) observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return (
    <div class="tiles-area" ref={element}>
      {[...places(tiles.value)].map(([session, place], at) => (
        <OneTile key={session} session={session} place={place} number={at + 1} />
      ))}
      {dividers(tiles.value).map((divider) => (
        <DividerLine key={divider.path.join()} divider={divider} area={element} />
      ))}
    </div>
  );
}

interface TileProps {
  session: string;
  place: Place;
  number: number;
}

function OneTile({ session, place, number }: TileProps) {
  const isFocused = focused.value === session;
  const name = list.value?.get(session)?.name ?? "";
  const wasListed = useRef(false);
  wasListed.current ||= list.value?.has(session) ?? false;
  // One that was never listed may be too new for that: its own connection says what it is.
  const isDeleted = wasListed.current && list.value !== null && !list.value.has(session);
  const split = (side: Side): void => {
    enter(session);
    askWhere(side);
  };
  const space = { right: fits(session, "right"), below: fits(session, "below") };
  return (
    <div
      class="tile"
      role="group"
      aria-label={strings.desktop.tile(number, name)}
      aria-description={strings.desktop.wayOut}
      aria-current={isFocused}
      style={{ left: `${place.left * 100}%`, top: `${place.top * 100}%`, width: `${place.width * 100}%`, height: `${place.height * 100}%` }}
      onFocusIn={() => enter(session)}
      onPointerDown={() => enter(session)}
    >
      <TileContext.Provider value={{ isFocused, calls: calls.value, fits: space, split, close: () => close(session) }}>
        {isDeleted ? <Ended reason="gone" /> : <SessionPage id={session} />}
      </TileContext.Provider>
    </div>
  );
}

function NoTiles() {
  return (
    <section class="no-tiles">
      <h2>{strings.desktop.emptyTitle}</h2>
      <p>{strings.desktop.emptyText}</p>
      <Shortcuts />
    </section>
  );
}

/** A row of the session that the address names already leads nowhere, so the keys go there by themselves. */
function callFocused(event: MouseEvent): void {
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (link && link.pathname === `/s/${focused.peek() ?? ""}` && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    calls.value += 1;
  }
}

/** From the list back to the terminal that had the keys. */
function leaveByEscape(event: KeyboardEvent): void {
  if (event.key === "Escape" && !event.defaultPrevented && focused.peek() !== null) calls.value += 1;
}
