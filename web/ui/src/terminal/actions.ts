import type { Signal } from "@preact/signals";
import { deleteSession, recordingOf, stopSession, type Bearer } from "../api/client";
import { lastDeleted } from "../home/list";
import { device } from "../keys/access";
import { bearerOf } from "../keys/proof";
import { route, toList } from "../router";
import { strings } from "../strings";
import { reasonOf } from "../ui/reason";

/** Why an action did not work, in words. */
type Failure = Signal<string | null>;

/** Hands the session's recording over as a file, read with the credential: no address with it is in the page. */
export function download(session: string, name: string, failure: Failure): Promise<void> {
  return attempt(failure, strings.terminal.download, async (bearer) => {
    const address = URL.createObjectURL(await recordingOf(bearer, session));
    const link = document.createElement("a");
    link.href = address;
    link.download = `${name === "" ? session : name}.cast`;
    link.click();
    // The browser has taken the file over by the time it comes to timers.
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  });
}

/** Ends the session's program, as it stands in this life of the daemon. */
export function stop(session: string, life: string | null, failure: Failure): Promise<void> {
  return attempt(failure, strings.terminal.stop, async (bearer) => void (await stopSession(bearer, session, life)));
}

/** Deletes the session and goes to the list, where that can be taken back. */
export function remove(session: string, name: string, life: string | null, failure: Failure): Promise<void> {
  return attempt(failure, strings.terminal.delete, async (bearer) => {
    await deleteSession(bearer, session, life);
    lastDeleted.value = { id: session, name };
    // The answer may come when another session is looked at.
    const at = route.peek();
    if (at.kind === "session" && at.id === session) toList("replace");
  });
}

async function attempt(failure: Failure, what: string, act: (bearer: Bearer) => Promise<void>): Promise<void> {
  failure.value = null;
  const credential = device.peek();
  if (!credential) return;
  try {
    await act(bearerOf(credential));
  } catch (error) {
    failure.value = `${strings.terminal.failed(what)} ${reasonOf(error)}`;
  }
}
