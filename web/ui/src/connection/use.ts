import { useEffect, useMemo } from "preact/hooks";
import { clearList } from "../home/list";
import { clearInputs } from "../terminal/inputs";
import { giveUp, isVerdict, probe } from "../keys/access";
import { Connection, type Link, type Probe } from "./connection";
import { followPage } from "./page";

/** Keeps a link open while a screen is shown, and draws the consequences of its end. */
export function useConnection(link: Link | null, ask: Probe = probe): Connection | null {
  const connection = useMemo(() => (link ? new Connection(link, ask) : null), [link]);
  useEffect(() => {
    if (!connection) return;
    const leavePage = followPage(connection);
    const stop = connection.state.subscribe((state) => {
      if (state.kind !== "ended" || !isVerdict(state.reason)) return;
      clearList();
      clearInputs();
      void giveUp(state.reason);
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
