/** The label by which this browser groups the list; null for none. */
export function recalledGrouping(): string | null {
  return localStorage.getItem(KEY);
}

/** Keeps it for the next time. */
export function keepGrouping(label: string | null): void {
  if (label === null) forgetGrouping();
  else localStorage.setItem(KEY, label);
}

/** A label is a name of somebody's: nothing of it stays in a browser that is trusted no more. */
export function forgetGrouping(): void {
  localStorage.removeItem(KEY);
}

const KEY = "transom.group";
