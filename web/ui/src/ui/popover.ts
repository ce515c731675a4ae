/** Puts a popover below the button that opens it, right edge under right edge. For its `beforetoggle` event. */
export function placePopover({ currentTarget, newState }: { currentTarget: HTMLElement; newState?: string }): void {
  const button = document.querySelector(`[popovertarget="${currentTarget.id}"]`);
  if (newState !== "open" || !button) return;
  const { bottom, right } = button.getBoundingClientRect();
  currentTarget.style.setProperty("--popover-top", `${Math.round(bottom)}px`);
  currentTarget.style.setProperty("--popover-right", `${Math.round(window.innerWidth - right)}px`);
}
