import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect } from "preact/hooks";
import type { Connection } from "../connection/connection";
import { isWaiting } from "../connection/machine";
import { useConnection } from "../connection/use";
import { device } from "../keys/access";
import { strings } from "../strings";
import { focusOnArrival } from "../ui/arrival";
import { moveByArrows } from "../ui/arrows";
import { Mark } from "../ui/icons";
import { Command, Ended } from "../ui/message";
import { Status } from "../ui/status";
import { startTicking } from "../ui/time";
import { followSessions, list, listMeter, probeSessions } from "./list";
import { HomeNotices } from "./notices";
import { List } from "./sessions";

/** `/`: the sessions, live. */
export function Home() {
  const connection = useConnection(followSessions, probeSessions);
  useEffect(() => void (document.title = strings.product), []);
  useLayoutEffect(keepPlace, []);
  useEffect(prefetchTerminal, []);
  if (!connection) return null;
  const state = connection.state.value;
  if (state.kind === "ended" && state.reason !== "finished") return <Ended reason={state.reason} said={state.said} />;
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
        <Status connection={connection} meter={listMeter} unit="updates" />
      </header>
      {children}
      <Body class="page-body" onKeyDown={moveByArrows}>
        <h1 class="visually-hidden" tabIndex={-1}>{strings.sessions}</h1>
        {list.value === null ? <Waiting unreachable={isWaiting(state)} /> : <List sessions={list.value} stale={stale} />}
      </Body>
      <HomeNotices staleSince={stale && isWaiting(state) ? state.since : null} />
      {device.value && (
        <footer>
          <a href="/device">
            {strings.home.device}: <strong>{device.value.label}</strong> · {strings.home.roles[device.value.role]}
          </a>
        </footer>
      )}
    </>
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

/** Shows the list where it was left, with the focus on the link that led away. */
function keepPlace(): () => void {
  const place = scrolled;
  const restore = (): void => window.scrollTo({ top: place, behavior: "instant" });
  restore();
  focusOnArrival();
  // Rows have a guessed height until they are drawn for the first time, so the list is as long as it was only then.
  let frame = requestAnimationFrame(() => (frame = requestAnimationFrame(restore)));
  const note = (): void => void (scrolled = window.scrollY);
  window.addEventListener("scroll", note, { passive: true });
  return () => {
    cancelAnimationFrame(frame);
    window.removeEventListener("scroll", note);
  };
}

/** CSS pixels by which the list was scrolled when it was looked at last. */
let scrolled = 0;

/** The terminal's code is part of the first load, so that a tap on a session asks for nothing but the session. */
function prefetchTerminal(): void {
  setTimeout(() => void import("../terminal/controls").catch(() => undefined), 300);
}
