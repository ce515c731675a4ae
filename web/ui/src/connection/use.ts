import { useEffect, useMemo } from "preact/hooks";
import { clearList } from "../home/list";
import { giveUp, isVerdict, probe } from "../keys/access";
import { Connection, type Link } from "./connection";
import { followPage } from "./page";

/** Keeps a link open while a screen is shown, and draws the consequences of its end. */
export function useConnection(link: Link | null): Connection | null {
  const connection = useMemo(() => (link ? new Connection(link, probe) : null), [link]);
  useEffect(() => {
    if (!connection) return;
    const leavePage = followPage(connection);
    const stop = connection.state.subscribe((state) => {
      if (state.kind !== "ended" || !isVerdict(state.reason)) return;
      clearList();
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
