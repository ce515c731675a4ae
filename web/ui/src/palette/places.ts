/** Where the palette sends the keys on a screen; by what is drawn, so that each screen stays as it is. */

/** The list: the row of what is shown, or the first. */
export function focusList(): void {
  const rows = document.querySelector<HTMLElement>('.sidebar .session[aria-current="page"]') ?? document.querySelector<HTMLElement>(".sidebar .session");
  rows?.focus();
}

/** The first button of the terminal that has the keys. */
export function focusButtons(): void {
  shownBar()?.querySelector<HTMLElement>("button")?.focus();
}

/** The menu of the terminal that has the keys, opened. */
export function openActions(): void {
  const button = shownBar()?.querySelector<HTMLElement>(".menu-button");
  const menu = document.getElementById(button?.getAttribute("popovertarget") ?? "");
  menu?.showPopover();
  menu?.querySelector("button")?.focus();
}

function shownBar(): HTMLElement | null {
  return document.querySelector('.tile[aria-current="true"] .bar') ?? document.querySelector("main.terminal-page .bar");
}
