/** A pinch over an element, from its first to its last movement. */
export interface Pinch {
  /** How far the fingers are apart, relative to the beginning. */
  scale: number;
  /** The point between the fingers, in the page's visible area. */
  x: number;
  y: number;
}

/** Tells of pinches: of each while it goes on, and once with its end. */
export function followPinch(
  element: HTMLElement,
  listener: { pinching(pinch: Pinch): void; pinched(pinch: Pinch): void },
  signal: AbortSignal,
): void {
  let begun = 0;
  let last: Pinch | null = null;
  const start = ({ targetTouches: [one, other] }: TouchEvent): void => {
    begun = one && other ? distance(one, other) : 0;
  };
  const move = (event: TouchEvent): void => {
    const [one, other] = event.targetTouches;
    if (!one || !other || begun === 0) return;
    event.preventDefault();
    last = { scale: distance(one, other) / begun, x: (one.clientX + other.clientX) / 2, y: (one.clientY + other.clientY) / 2 };
    listener.pinching(last);
  };
  const end = ({ targetTouches: touches }: TouchEvent): void => {
    if (touches.length >= 2 || begun === 0) return;
    begun = 0;
    if (last) listener.pinched(last);
    last = null;
  };
  element.addEventListener("touchstart", start, { signal, passive: true });
  element.addEventListener("touchmove", move, { signal, passive: false });
  for (const name of ["touchend", "touchcancel"] as const) element.addEventListener(name, end, { signal });
}

function distance(one: Touch, other: Touch): number {
  return Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
}
