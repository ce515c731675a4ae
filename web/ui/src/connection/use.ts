import { useEffect, useMemo } from "preact/hooks";
import { forgetGrouping } from "../home/grouping";
import { clearTiles } from "../desktop/workspace";
import { clearList } from "../home/list";
import { clearInputs } from "../terminal/inputs";
import { giveUp, isVerdict, probe, type Verdict } from "../keys/access";
import { Connection, type Link, type Probe } from "./connection";
import { followPage } from "./page";

/** Keeps a link open while a screen is shown, and draws the consequences of its end. */
export function useConnection(link: Link | null, ask: Probe = probe, trustEnded: (reason: Verdict) => void = deviceEnded): Connection | null {
  const connection = useMemo(() => (link ? new Connection(link, ask) : null), [link]);
  useEffect(() => {
    if (!connection) return;
    const leavePage = followPage(connection);
    const stop = connection.state.subscribe((state) => {
      if (state.kind === "ended" && isVerdict(state.reason)) trustEnded(state.reason);
    });
    connection.start();
    return () => {
      stop();
      leavePage();
      connection.halt();
    };
  }, [connection]);
  return connection;
}

function deviceEnded(reason: Verdict): void {
  clearList();
  forgetGrouping();
  clearTiles();
  clearInputs();
  void giveUp(reason);
}
