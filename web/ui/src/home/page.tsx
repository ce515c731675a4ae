import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { restoreSession } from "../api/client";
import type { Connection } from "../connection/connection";
import { isWaiting } from "../connection/machine";
import { useConnection } from "../connection/use";
import { device } from "../keys/access";
import { bearerOf } from "../keys/proof";
import { strings } from "../strings";
import { Mark } from "../ui/icons";
import { Command, Ended } from "../ui/message";
import { Status } from "../ui/status";
import { clockTime, startTicking } from "../ui/time";
import type { Session } from "../protocol";
import { followSessions, lastDeleted, list, listedLife, newcomer, ordered, probeSessions } from "./list";
import { Row } from "./row";

/** `/`: the sessions, live. */
export function Home() {
  const connection = useConnection(followSessions, probeSessions);
  useEffect(() => void (document.title = strings.product), []);
  useEffect(prefetchTerminal, []);
  if (!connection) return null;
  const state = connection.state.value;
  if (state.kind === "ended" && state.reason !== "finished") return <Ended reason={state.reason} />;
  return (
    <div class="page">
      <Sessions connection={connection} Body="main" />
    </div>
  );
}

interface SessionsProps {
  connection: Connection;
  /** What the list stands in: the page's main part, or a part beside it. */
  Body: "main" | "div";
  /** Between head and list. */
  children?: ComponentChildren;
}

/** The list of sessions with its head and foot, which is a page, and the sidebar of a wide one. */
export function Sessions({ connection, Body, children }: SessionsProps) {
  useEffect(startTicking, []);
  const state = connection.state.value;
  const stale = isWaiting(state) && list.value !== null;
  return (
    <>
      <header class="top">
        <Mark />
        <span class="wordmark">{strings.product}</span>
        <Status connection={connection} />
      </header>
      {children}
      <Body class="page-body">
        <h1 class="visually-hidden">{strings.sessions}</h1>
        {stale && isWaiting(state) && <p class="banner">{strings.home.stale(clockTime(state.since))}</p>}
        {newcomer.value && <Newcomer label={newcomer.value.label} role={strings.home.roles[newcomer.value.role]} />}
        {lastDeleted.value && <Restore deleted={lastDeleted.value} />}
        {list.value === null ? <Waiting unreachable={isWaiting(state)} /> : <List sessions={list.value} stale={stale} />}
      </Body>
      {device.value && (
        <footer>
          {strings.home.device}: <strong>{device.value.label}</strong> · {strings.home.roles[device.value.role]}
        </footer>
      )}
    </>
  );
}

/** Says that the daemon trusts another device from now on: whoever did not mean that acts now. */
function Newcomer({ label, role }: { label: string; role: string }) {
  return (
    <div class="banner offer" role="status" data-notice="paired">
      <p>{strings.home.paired(label, role)}</p>
      <button type="button" onClick={() => (newcomer.value = null)}>
        {strings.terminal.dismiss}
      </button>
    </div>
  );
}

/** Takes the last deletion back, for as long as the list is looked at. */
function Restore({ deleted: { id, name } }: { deleted: { id: string; name: string } }) {
  const failed = useSignal(false);
  useEffect(() => () => void (lastDeleted.value = null), []);
  const restore = async (): Promise<void> => {
    const credential = device.peek();
    if (!credential) return;
    await restoreSession(bearerOf(credential), id, listedLife()).then(() => (lastDeleted.value = null), () => (failed.value = true));
  };
  return (
    <div class="banner offer" role="status">
      <p>{failed.value ? strings.home.restoreFailed : strings.home.deleted(name)}</p>
      <button type="button" onClick={() => void restore()}>
        {strings.home.restore}
      </button>
    </div>
  );
}

function Waiting({ unreachable }: { unreachable: boolean }) {
  if (!unreachable) return <p class="quiet appears">{strings.home.connecting}</p>;
  return (
    <section class="empty">
      <h2>{strings.home.unreachableTitle}</h2>
      <p>{strings.home.unreachableText}</p>
      <Command text={strings.home.unreachableCommand} />
    </section>
  );
}

function List({ sessions, stale }: { sessions: ReadonlyMap<string, Session>; stale: boolean }) {
  const held = useSignal<string[] | null>(null);
  if (sessions.size === 0) {
    return (
      <section class="empty">
        <h2>{strings.home.emptyTitle}</h2>
        <p>{strings.home.emptyText}</p>
        <Command text={strings.home.emptyCommand} />
      </section>
    );
  }
  const rows = inOrder(sessions, held.value);
  const hold = (): void => void (held.value = rows.map(({ id }) => id));
  const release = (): void => void (held.value = null);
  return (
    <ul class={stale ? "sessions stale" : "sessions"} onPointerEnter={hold} onPointerLeave={release} onPointerCancel={release}>
      {rows.map((session) => (
        <Row key={session.id} session={session} />
      ))}
    </ul>
  );
}

/** Rows stay where they are while a finger or pointer is on them; new ones join at the end. */
function inOrder(sessions: ReadonlyMap<string, Session>, held: string[] | null): Session[] {
  const sorted = ordered(sessions.values());
  if (!held) return sorted;
  const kept = held.flatMap((id) => sessions.get(id) ?? []);
  return [...kept, ...sorted.filter(({ id }) => !held.includes(id))];
}

/** The terminal's code is part of the first load, so that a tap on a session asks for nothing but the session. */
function prefetchTerminal(): void {
  setTimeout(() => void import("../terminal/controls").catch(() => undefined), 300);
}
