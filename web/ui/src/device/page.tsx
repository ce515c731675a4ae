import { useSignal, type Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ownRecord, Refused, signOut } from "../api/client";
import type { Connection } from "../connection/connection";
import { useConnection } from "../connection/use";
import { followSessions, listMeter, probeSessions } from "../home/list";
import { HomeNotices } from "../home/notices";
import { device } from "../keys/access";
import { bearerOf } from "../keys/proof";
import type { DeviceRecord } from "../protocol";
import { strings } from "../strings";
import { Confirm } from "../ui/dialog";
import { focusOnArrival } from "../ui/arrival";
import { Back, Pen } from "../ui/icons";
import { Ended } from "../ui/message";
import { Status } from "../ui/status";
import { dateAndTime } from "../ui/time";
import { Install } from "./install";
import { factsOf } from "./record";
import { Rename } from "./rename";

/** `/device`: what this browser is to the daemon, and the way out. */
export function DevicePage() {
  const connection = useConnection(followSessions, probeSessions);
  const record = useSignal<DeviceRecord | null>(null);
  const isRenaming = useSignal(false);
  useEffect(() => void (document.title = `${strings.device.title} · ${strings.product}`), []);
  useEffect(focusOnArrival, []);
  if (!connection) return null;
  const state = connection.state.value;
  if (state.kind === "ended" && state.reason !== "finished") return <Ended reason={state.reason} said={state.said} />;
  return (
    <div class="page">
      <header class="top">
        <a class="square" href="/" aria-label={strings.backToSessions}>
          <Back />
        </a>
        <h1 class="wordmark" tabIndex={-1}>{strings.device.title}</h1>
        <Status connection={connection} meter={listMeter} unit="updates" />
      </header>
      <main class="page-body">
        <Record connection={connection} record={record} isRenaming={isRenaming} />
        <Install />
        <SignOut connection={connection} />
      </main>
      <HomeNotices staleSince={null} />
      {isRenaming.value && <Rename record={record} isOpen={isRenaming} />}
    </div>
  );
}

function Record({ connection, record, isRenaming }: { connection: Connection; record: Signal<DeviceRecord | null>; isRenaming: Signal<boolean> }) {
  const isLive = connection.state.value.kind === "live";
  // Each round trip is a sign that what is shown may have changed since.
  const trip = connection.roundTrip.value;
  useEffect(() => {
    const credential = device.peek();
    if (!isLive || !credential) return;
    const left = new AbortController();
    // What the answer would be is asked for again with the next round trip; why there is none, the connection says.
    ownRecord(bearerOf(credential), left.signal).then((now) => (record.value = now), () => undefined);
    return () => left.abort();
  }, [isLive, trip]);
  const known = record.value;
  return (
    <section class={isLive ? "panel" : "panel stale"} aria-busy={known === null}>
      <div class="panel-head">
        <h2>{known?.label ?? device.value?.label ?? ""}</h2>
        {known !== null && (
          <button type="button" class="square" aria-label={strings.device.rename} title={strings.device.rename} onClick={() => (isRenaming.value = true)}>
            <Pen />
          </button>
        )}
      </div>
      {known === null ? (
        <p class="quiet appears">{strings.device.asking}</p>
      ) : (
        <dl class="facts">
          {factsOf(known, dateAndTime).map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}

function SignOut({ connection }: { connection: Connection }) {
  const asks = useSignal(false);
  const failed = useSignal<string | null>(null);
  const leave = async (): Promise<void> => {
    failed.value = null;
    const credential = device.peek();
    if (!credential) return;
    // What its own streams would say of their end is not how it ended.
    connection.halt();
    try {
      await signOut(bearerOf(credential));
      connection.end("signed_out");
    } catch (error) {
      connection.start();
      failed.value = error instanceof Refused ? error.problem.detail : strings.device.signOutUnheard;
    }
  };
  return (
    <section class="panel">
      <h2>{strings.device.signOut}</h2>
      <p>{strings.device.signOutText}</p>
      {failed.value !== null && (
        <p class="banner" role="alert">
          {strings.device.signOutFailed} {failed.value}
        </p>
      )}
      <button type="button" class="button bad-button" onClick={() => (asks.value = true)}>
        {strings.device.signOut}
      </button>
      {asks.value && (
        <Confirm
          title={strings.device.signOutTitle}
          text={strings.device.signOutAsk}
          action={strings.device.signOut}
          answer={(yes) => {
            asks.value = false;
            if (yes) void leave();
          }}
        />
      )}
    </section>
  );
}
