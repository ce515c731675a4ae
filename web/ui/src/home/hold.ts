import { useSignal, type ReadonlySignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";

/** What keeps rows where they are. */
type Reason = "pointer" | "finger" | "focus";

/** Handlers for what the rows are in, and whether they stand still now. */
export interface Hold {
  isHeld: ReadonlySignal<boolean>;
  onPointerEnter(event: PointerEvent): void;
  onPointerLeave(event: PointerEvent): void;
  onTouchStart(): void;
  onTouchEnd(event: TouchEvent): void;
  onTouchCancel(event: TouchEvent): void;
  onFocusIn(event: FocusEvent): void;
  onFocusOut(): void;
}

/** Rows stand still while a pointer or a finger is on them, a finger that scrolls as well, or a keyboard is among them. */
export function useHold(): Hold {
  const reasons = useSignal<ReadonlySet<Reason>>(new Set());
  const isHeld = useSignal(false);
  useEffect(() => reasons.subscribe((now) => void (isHeld.value = now.size > 0)), []);
  return useMemo(() => {
    let lifting: ReturnType<typeof setTimeout> | undefined;
    const hold = (reason: Reason): void => {
      if (!reasons.peek().has(reason)) reasons.value = new Set([...reasons.peek(), reason]);
    };
    const release = (reason: Reason): void => void (reasons.value = new Set([...reasons.peek()].filter((other) => other !== reason)));
    const lifted = ({ touches }: TouchEvent): void => {
      if (touches.length === 0) lifting = setTimeout(() => release("finger"), TAP);
    };
    return {
      isHeld,
      // A finger's own events tell more: its pointer ends where it begins to scroll.
      onPointerEnter: ({ pointerType }) => pointerType !== "touch" && hold("pointer"),
      onPointerLeave: () => release("pointer"),
      onTouchStart() {
        clearTimeout(lifting);
        hold("finger");
      },
      onTouchEnd: lifted,
      onTouchCancel: lifted,
      onFocusIn: ({ target }) => target instanceof Element && target.matches(":focus-visible") && hold("focus"),
      onFocusOut: () => release("focus"),
    };
  }, []);
}

/** Milliseconds after a finger has left: the click that it makes finds the row that was below it. */
const TAP = 400;
