/** Moves the focus among the rows of a list by the arrow keys, Home and End; for its `keydown` event. */
export function moveByArrows(event: KeyboardEvent): void {
  const rows = event.currentTarget instanceof Element ? [...event.currentTarget.querySelectorAll<HTMLElement>("a.session")] : [];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  const next = at < 0 || event.ctrlKey || event.altKey || event.metaKey ? undefined : nextRow(event.key, at, rows.length);
  if (next === undefined) return;
  event.preventDefault();
  rows[next]?.focus();
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
