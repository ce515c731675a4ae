import { close, fits, focused, isWide, show, tiles, type Where } from "../desktop/workspace";
import { sessionsIn } from "../desktop/tiles";
import { list, ordered } from "../home/list";
import { outcome, stateWords } from "../home/row";
import { navigate, toList } from "../router";
import { strings } from "../strings";
import { focusButtons, focusList, openActions } from "./places";
import { askWhere, isHelpOpen, type Purpose } from "./state";

/** Something that the palette offers. */
export interface Item {
  id: string;
  /** What it does, or the session that it leads to. */
  title: string;
  /** What stands beside the title, quietly. */
  detail: string;
  /** The look of a session's state; none for an action. */
  state?: string;
  /** What it is found by. */
  text: string;
  /** Does it, in the place that was asked for. */
  run: (where: Where) => void;
}

/** The sessions that can be asked for; the one that has the keys last, and not beside itself. */
export function sessionItems(purpose: Purpose): Item[] {
  const present = isWide.value ? sessionsIn(tiles.value) : [];
  const all = ordered(list.value?.values() ?? []);
  const here = all.filter(({ id }) => id === focused.value);
  const sessions = [...all.filter(({ id }) => id !== focused.value), ...(purpose === "all" ? here : [])];
  return sessions.map((session) => ({
    id: session.id,
    title: session.name,
    detail: present.includes(session.id) ? strings.palette.onScreen(present.indexOf(session.id) + 1) : stateWords(session),
    state: outcome(session),
    text: `${session.name} ${session.command}`,
    run: (where) => show(session.id, purpose === "all" ? where : purpose),
  }));
}

/** What else can be done here and now. */
export function actionItems(): Item[] {
  const session = focused.value;
  const isTiled = session !== null && isWide.value;
  const { actions } = strings.palette;
  const offered: [boolean, string, () => void][] = [
    [isTiled && fits(session, "right"), actions.splitRight, () => askWhere("right")],
    [isTiled && fits(session, "below"), actions.splitBelow, () => askWhere("below")],
    [isTiled, actions.close, () => session !== null && close(session)],
    [session !== null, actions.menu, openActions],
    [session !== null, actions.buttons, focusButtons],
    [isWide.value, actions.list, focusList],
    [true, actions.device, () => navigate("/device")],
    [session !== null && !isWide.value, actions.home, toList],
    [true, actions.help, () => (isHelpOpen.value = true)],
  ];
  return offered.flatMap(([isOffered, title, run]) => (isOffered ? [{ id: title, title, detail: "", text: title, run }] : []));
}
