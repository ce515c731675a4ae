/**
 * Moves the focus among the rows of a list by the arrow keys, Home and End, and down to them from what looks for them; for
 * the `keydown` event of what both are in.
 */
export function moveByArrows(event: KeyboardEvent): void {
  const rows = event.currentTarget instanceof Element ? [...event.currentTarget.querySelectorAll<HTMLElement>("li:not([inert]) > a.session")] : [];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  if (at < 0 && event.key === "ArrowDown" && isSearch(event.target)) {
    event.preventDefault();
    rows.find(({ tabIndex }) => tabIndex === 0)?.focus();
    return;
  }
  const next = at < 0 || event.ctrlKey || event.altKey || event.metaKey ? undefined : nextRow(event.key, at, rows.length);
  if (next === undefined) return;
  event.preventDefault();
  rows[next]?.focus();
}

function isSearch(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement && target.type === "search";
}

/** Where a key leads from a row; undefined where it leads nowhere. */
export function nextRow(key: string, at: number, count: number): number | undefined {
  switch (key) {
    case "ArrowDown":
      return Math.min(at + 1, count - 1);
    case "ArrowUp":
      return Math.max(at - 1, 0);
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return undefined;
  }
}
