import { useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import { goTowards, isWide, type Where } from "../desktop/workspace";
import type { Direction } from "../desktop/tiles";
import { strings } from "../strings";
import { isForInputMethod } from "../ui/composing";
import { Search } from "../ui/icons";
import { Keys } from "../ui/keys";
import { actionItems, sessionItems, type Item } from "./items";
import { matching } from "./match";
import { palette, shutPalette, type Purpose } from "./state";

/** Sessions and actions, found by typing. */
export function Palette() {
  const purpose = palette.value;
  return purpose === null ? null : <Open key={purpose} purpose={purpose} />;
}

function Open({ purpose }: { purpose: Purpose }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const query = useSignal("");
  const chosen = useSignal(0);
  const listbox = useId();
  useEffect(() => dialog.current?.showModal(), []);
  const sessions = matching(query.value, sessionItems(purpose), ({ text }) => text);
  const actions = purpose === "all" ? matching(query.value, actionItems(), ({ text }) => text) : [];
  const items = [...sessions, ...actions];
  const at = Math.min(chosen.value, items.length - 1);

  /** Shut first: the browser gives the focus back then, and what runs may send it elsewhere. */
  const leaveFor = (act: () => void): void => {
    dialog.current?.close();
    act();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const direction = DIRECTIONS[event.key];
    const step = STEPS[event.key];
    const isFree = query.peek() === "" && purpose === "all" && isWide.peek();
    if (isForInputMethod(event)) return;
    if (direction && isFree && (event.shiftKey || step === undefined)) leaveFor(() => goTowards(direction));
    else if (step !== undefined && items.length > 0) chosen.value = (at + step + items.length) % items.length;
    else if (event.key === "Enter") leaveFor(() => items[at]?.run(whereOf(event)));
    else return;
    event.preventDefault();
  };
  const option = (item: Item, index: number) => (
    <Option key={item.id} id={`${listbox}-${index}`} item={item} isChosen={index === at} run={() => leaveFor(() => item.run("here"))} />
  );
  return (
    <dialog ref={dialog} class="palette" aria-label={strings.palette.titles[purpose]} onClose={() => palette.peek() === purpose && shutPalette()} onPointerDown={shutOutside}>
      <label class="palette-field">
        <Search />
        <input
          type="text"
          role="combobox"
          aria-expanded="true"
          aria-controls={listbox}
          aria-autocomplete="list"
          {...(at >= 0 ? { "aria-activedescendant": `${listbox}-${at}` } : {})}
          aria-label={strings.palette.titles[purpose]}
          placeholder={strings.palette.titles[purpose]}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          value={query.value}
          onInput={({ currentTarget }) => {
            query.value = currentTarget.value;
            chosen.value = 0;
          }}
          onKeyDown={onKeyDown}
        />
      </label>
      <div class="palette-items" id={listbox} role="listbox" aria-label={strings.palette.titles[purpose]} tabIndex={-1}>
        {sessions.length > 0 && (
          <div role="group" aria-label={strings.sessions}>
            {sessions.map(option)}
          </div>
        )}
        {actions.length > 0 && (
          <div role="group" aria-label={strings.palette.actionsTitle}>
            {actions.map((item, index) => option(item, sessions.length + index))}
          </div>
        )}
      </div>
      {items.length === 0 && <p class="palette-none quiet">{strings.palette.none}</p>}
      <p class="visually-hidden" role="status">
        {strings.palette.found(items.length)}
      </p>
      {isWide.value && purpose === "all" && <Hints />}
    </dialog>
  );
}

function Option({ id, item, isChosen, run }: { id: string; item: Item; isChosen: boolean; run: () => void }) {
  const row = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isChosen) row.current?.scrollIntoView({ block: "nearest" });
  }, [isChosen]);
  return (
    <div ref={row} id={id} class="palette-item" role="option" aria-selected={isChosen} onClick={run}>
      {item.state ? <span class="session-dot" data-state={item.state} aria-hidden="true" /> : <span class="palette-chevron" aria-hidden="true" />}
      <span class="palette-title">{item.title}</span>
      <span class="palette-detail">{item.detail}</span>
    </div>
  );
}

/** What Enter does with a modifier, and the arrows before anything is typed. */
function Hints() {
  return (
    <p class="palette-hints">
      {strings.palette.hints.map(({ keys, does }) => (
        <span key={does}>
          <Keys keys={keys} /> {does}
        </span>
      ))}
    </p>
  );
}

function whereOf({ shiftKey, ctrlKey, metaKey }: KeyboardEvent): Where {
  if (shiftKey) return "right";
  return ctrlKey || metaKey ? "below" : "here";
}

/** A press beside a dialog is one on its backdrop, which is the dialog's own. */
function shutOutside(event: PointerEvent): void {
  const dialog = event.currentTarget as HTMLDialogElement;
  const { left, right, top, bottom } = dialog.getBoundingClientRect();
  const { clientX: x, clientY: y } = event;
  if (event.target === dialog && (x < left || x > right || y < top || y > bottom)) dialog.close();
}

const STEPS: Partial<Record<string, 1 | -1>> = { ArrowDown: 1, ArrowUp: -1 };
const DIRECTIONS: Partial<Record<string, Direction>> = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" };
