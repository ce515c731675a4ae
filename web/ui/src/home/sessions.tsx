import { useComputed, useSignal, type Signal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import type { Session } from "../protocol";
import { route, routeOf } from "../router";
import { strings } from "../strings";
import { Command } from "../ui/message";
import { arranged, labelNames, matches, stoodStill, tabStop, type Group, type Place } from "./arrange";
import { keepGrouping, recalledGrouping } from "./grouping";
import { useHold } from "./hold";
import { Row, type RowProps } from "./row";

/** All sessions: what is looked for, by the label that a person chose, and still while somebody is at them. */
export function List({ sessions, stale }: { sessions: ReadonlyMap<string, Session>; stale: boolean }) {
  const query = useSignal("");
  const label = useSignal(recalledGrouping());
  if (sessions.size === 0) {
    return (
      <section class="empty">
        <h2>{strings.home.emptyTitle}</h2>
        <p>{strings.home.emptyText}</p>
        <Command text={strings.home.emptyCommand} />
      </section>
    );
  }
  const names = labelNames(sessions.values());
  const by = label.value !== null && names.includes(label.value) ? label.value : null;
  const found = query.value === "" ? [...sessions.values()] : [...sessions.values()].filter((session) => matches(session, query.value));
  return (
    <>
      {(sessions.size >= FEW || query.value !== "" || names.length > 0) && <Tools query={query} label={label} names={names} by={by} found={found.length} all={sessions.size} />}
      {found.length === 0 ? (
        <p class="quiet nothing">{strings.home.nothing(query.value)}</p>
      ) : (
        <Rows key={`${by ?? ""}\n${query.value}`} groups={arranged(found, by, strings.home.groups)} stale={stale} />
      )}
    </>
  );
}

function Rows({ groups, stale }: { groups: readonly Group[]; stale: boolean }) {
  const { isHeld, ...handlers } = useHold();
  const stood = useSignal<readonly Group[] | null>(null);
  const shown = isHeld.value && stood.value ? stoodStill(stood.value, groups) : groups;
  // What is on the screen when the hold begins is what stands still.
  useEffect(() => void (stood.value = isHeld.value ? shown : null), [isHeld.value]);
  const visited = useSignal<string | null>(null);
  const stop = tabStop(shown, visited.value, route.value);
  const onFocusIn = (event: FocusEvent): void => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const to = link && routeOf(link.pathname);
    if (to?.kind === "session") visited.value = to.id;
    handlers.onFocusIn(event);
  };
  return (
    <div class={stale ? "groups stale" : "groups"} data-held={isHeld.value} {...handlers} onFocusIn={onFocusIn}>
      {shown.map(({ key, title, rows }) => (
        <section key={key} aria-label={title ?? undefined}>
          {title !== null && (
            <h2 class="group-title" dir="auto">
              {title} <span class="group-count">{rows.length}</span>
            </h2>
          )}
          <ul class="sessions">
            {rows.map((place) => rowOf(place, place.session.id === stop))}
          </ul>
        </section>
      ))}
    </div>
  );
}

/** A row: what it was where nothing of it has changed, since the same object is not compared with what is drawn, part by part. */
function rowOf({ session, stood, isGone }: Place, isTabStop: boolean): VNode<RowProps> {
  const last = drawn.get(session);
  if (last && last.props.stood === stood && last.props.isGone === isGone && last.props.isTabStop === isTabStop) return last;
  const row = <Row key={session.id} session={session} stood={stood} isGone={isGone} isTabStop={isTabStop} />;
  drawn.set(session, row);
  return row;
}

interface ToolsProps {
  query: Signal<string>;
  label: Signal<string | null>;
  names: readonly string[];
  by: string | null;
  found: number;
  all: number;
}

/** Looks for sessions, and groups them. */
function Tools({ query, label, names, by, found, all }: ToolsProps) {
  const counted = useComputed(() => query.value !== "");
  return (
    <div class="tools">
      <input
        type="search"
        class="search"
        value={query.value}
        placeholder={strings.home.search}
        aria-label={strings.home.search}
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        enterkeyhint="search"
        onInput={(event) => (query.value = event.currentTarget.value)}
      />
      {names.length > 0 && (
        <select
          class="by"
          aria-label={strings.home.groupBy}
          value={by ?? ""}
          onChange={(event) => {
            label.value = event.currentTarget.value === "" ? null : event.currentTarget.value;
            keepGrouping(label.value);
          }}
        >
          <option value="">{strings.home.ungrouped}</option>
          {names.map((name) => (
            <option key={name} value={name}>
              {strings.home.by(name)}
            </option>
          ))}
        </select>
      )}
      <span class="visually-hidden" role="status">
        {counted.value ? strings.home.found(found, all) : ""}
      </span>
    </div>
  );
}

/** The rows by what they show; hundreds are listed anew whenever one changes. */
const drawn = new WeakMap<Session, VNode<RowProps>>();

/** Sessions that are seen at a glance: nothing has to be looked for among them. */
const FEW = 8;
