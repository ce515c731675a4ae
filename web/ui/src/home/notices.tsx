import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { isStale, restoreSession } from "../api/client";
import { dismissOutdated, isOutdated } from "../connection/build";
import { device } from "../keys/access";
import { bearerOf } from "../keys/proof";
import { strings } from "../strings";
import { Notice } from "../ui/notice";
import { clockTime } from "../ui/time";
import { lastDeleted, listedLife, newcomer } from "./list";

/** What a person has to know now, over the lower end of the list, so that no row moves for it. */
export function HomeNotices({ staleSince }: { staleSince: number | null }) {
  return (
    <div class="home-notices">
      {isOutdated.value && (
        <Notice quiet kind="outdated" action={strings.outdated.reload} act={() => location.reload()} dismiss={dismissOutdated}>
          {strings.outdated.text}
        </Notice>
      )}
      {newcomer.value && (
        <Notice quiet kind="paired" dismiss={() => (newcomer.value = null)}>
          {strings.home.paired(newcomer.value.label, strings.home.roles[newcomer.value.role])}
        </Notice>
      )}
      {lastDeleted.value && <Restore key={lastDeleted.value.id} deleted={lastDeleted.value} />}
      {staleSince !== null && (
        <p class="banner" role="status">
          {strings.home.stale(clockTime(staleSince))}
        </p>
      )}
    </div>
  );
}

/** Takes the last deletion back, for as long as the list is looked at. */
function Restore({ deleted: { id, name } }: { deleted: { id: string; name: string } }) {
  const failed = useSignal<string | null>(null);
  useEffect(() => () => void (lastDeleted.value = null), []);
  const restore = async (): Promise<void> => {
    const credential = device.peek();
    if (!credential) return;
    await restoreSession(bearerOf(credential), id, listedLife()).then(
      () => (lastDeleted.value = null),
      (error: unknown) => (failed.value = isStale(error) ? strings.staleLife : strings.home.restoreFailed),
    );
  };
  return (
    <Notice quiet kind="deleted" action={strings.home.restore} act={() => void restore()} dismiss={() => (lastDeleted.value = null)}>
      {failed.value ?? strings.home.deleted(name)}
    </Notice>
  );
}
