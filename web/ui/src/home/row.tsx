import { serverNow } from "../api/client";
import type { Session } from "../protocol";
import { strings } from "../strings";
import { Eye } from "../ui/icons";
import { ago, tick } from "../ui/time";
import { ending, since, waits } from "./list";

/** One session of the list: a link to it. */
export function Row({ session }: { session: Session }) {
  // Read so that the row is drawn again as time goes by.
  void tick.value;
  const looking = session.viewers + session.writers;
  return (
    <li>
      <a class="session" href={`/s/${session.id}`} data-state={outcome(session)}>
        <span class="session-dot" aria-hidden="true" />
        <span class="session-name">{session.name}</span>
        <span class="session-state">
          {stateWords(session)} · {ago(since(session), serverNow())}
        </span>
        <span class="session-command">{[session.command, ...session.args].join(" ")}</span>
        {looking > 0 && (
          <span class="session-viewers" title={strings.home.viewers(looking)}>
            <Eye />
            <span aria-hidden="true">{looking}</span>
            <span class="visually-hidden">{strings.home.viewers(looking)}</span>
          </span>
        )}
        {session.note && <span class="session-note">{session.note.text}</span>}
        {waits(session) && session.attention.message && <span class="session-message">{session.attention.message}</span>}
        <span class="session-line">
          {session.out_of_reach ?? (session.last_line.trim() || <em>{strings.home.noOutput}</em>)}
        </span>
      </a>
    </li>
  );
}

function outcome(session: Session): "waiting" | "running" | "done" | "stopped" | "failed" {
  if (waits(session)) return "waiting";
  if (session.out_of_reach !== undefined) return "failed";
  if (session.state === "running") return "running";
  return session.exit ? ending(session.exit) : "failed";
}

function stateWords({ state, exit, attention, out_of_reach }: Session): string {
  if (out_of_reach !== undefined) return strings.home.outOfReach;
  if (state === "running") return strings.home.attention[attention.state];
  if (state === "lost") return strings.home.lost;
  if (typeof exit?.code === "number") return strings.home.exitCode(exit.code);
  if (typeof exit?.signal === "number") return strings.home.signal(exit.signal);
  return strings.home.exited;
}
