import { formerPath } from "../router";

/**
 * Sends the focus to where a screen reader, or a keyboard, goes on after a change of screens: to the link that led away from this
 * one, else to the heading. The first screen of a page is the browser's to read out.
 */
export function focusOnArrival(): void {
  const former = formerPath();
  if (former === null) return;
  const link = document.querySelector<HTMLElement>(`a[href="${former}"]:not(header a)`);
  (link ?? document.querySelector<HTMLElement>("h1"))?.focus({ preventScroll: true });
}
