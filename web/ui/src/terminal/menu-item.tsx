import type { ComponentChildren } from "preact";

interface MenuItemProps {
  act: () => void;
  icon: ComponentChildren;
  /** Whether it takes something away. */
  bad?: boolean;
  /** Whether it is on, where it can be on or off. */
  isOn?: boolean;
  children: ComponentChildren;
}

/** An entry of a session's menu, which it closes: first, since what it does may open something else. */
export function MenuItem({ act, icon, bad = false, isOn, children }: MenuItemProps) {
  return (
    <button
      type="button"
      class={bad ? "item bad" : "item"}
      aria-pressed={isOn}
      onClick={({ currentTarget }) => {
        currentTarget.closest<HTMLElement>("[popover]")?.hidePopover();
        act();
      }}
    >
      {icon}
      {children}
    </button>
  );
}
