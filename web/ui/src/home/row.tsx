import { serverNow } from "../api/client";
import type { Session } from "../protocol";
import { route } from "../router";
import { strings } from "../strings";
import { Eye } from "../ui/icons";
import { ago, tick } from "../ui/time";
import { ending, since, waits } from "./list";

/** What a row shows. */
export interface RowProps {
  session: Session;
  /** The session when the rows came to stand still: the row has the lines that it had then. */
  stood?: Session;
  /** Whether only the place is kept. */
  isGone?: boolean;
  /** Whether Tab leads to it: to one row of the list alone, and the arrow keys from there. */
  isTabStop?: boolean;
}

/** One session of the list: a link to it. */
export function Row({ session, stood = session, isGone = false, isTabStop = false }: RowProps) {
  // Read so that the row is drawn again as time goes by.
  void tick.value;
  const looking = session.viewers + session.writers;
  const note = stood.note && (session.note ?? stood.note);
  const asked = messageOf(stood) === null ? null : (messageOf(session) ?? messageOf(stood));
  const isShown = route.value.kind === "session" && route.value.id === session.id;
  return (
    <li class={isGone ? "gone" : undefined} inert={isGone}>
      <a class="session" href={`/s/${session.id}`} tabIndex={isTabStop ? 0 : -1} data-state={outcome(session)} aria-current={isShown ? "page" : undefined}>
        <span class="session-dot" aria-hidden="true" />
        <span class="session-name">{session.name}</span>
        <span class="session-state">
          {isGone ? strings.home.gone : `${stateWords(session)} · ${ago(since(session), serverNow())}`}
        </span>
        <span class="session-command">{[session.command, ...session.args].join(" ")}</span>
        {looking > 0 && (
          <span class="session-viewers" title={strings.home.viewers(looking)}>
            <Eye />
            <span aria-hidden="true">{looking}</span>
            <span class="visually-hidden">{strings.home.viewers(looking)}</span>
          </span>
        )}
        {note && <span class="session-note">{note.text}</span>}
        {asked && <span class="session-message">{asked}</span>}
        <span class="session-line">
          {session.out_of_reach ?? (session.last_line.trim() || <em>{strings.home.noOutput}</em>)}
        </span>
      </a>
    </li>
  );
}

/** What a session's program asks for, while it waits. */
function messageOf(session: Session): string | null {
  return waits(session) ? session.attention.message : null;
}

/** What a session's mark shows. */
export function outcome(session: Session): "waiting" | "running" | "done" | "stopped" | "failed" {
  if (waits(session)) return "waiting";
  if (session.out_of_reach !== undefined) return "failed";
  if (session.state === "running") return "running";
  return session.exit ? ending(session.exit) : "failed";
}

/** A session's state in words. */
export function stateWords({ state, exit, attention, out_of_reach }: Session): string {
  if (out_of_reach !== undefined) return strings.home.outOfReach;
  if (state === "running") return strings.home.attention[attention.state];
  if (state === "lost") return strings.home.lost;
  if (typeof exit?.code === "number") return strings.home.exitCode(exit.code);
  if (typeof exit?.signal === "number") return strings.home.signal(exit.signal);
  return strings.home.exited;
}
