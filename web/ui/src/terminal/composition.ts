import type { Terminal } from "@xterm/xterm";

/** Text that is being composed, shown at the cursor until it is sent. */
export class Composition {
  private readonly element = document.createElement("div");

  constructor(private readonly terminal: Terminal) {
    this.element.className = "composition";
    this.element.hidden = true;
    this.element.setAttribute("aria-hidden", "true");
    terminal.element?.querySelector(".xterm-screen")?.append(this.element);
  }

  /** Shows a text; nothing where it is empty. */
  show(text: string): void {
    this.element.hidden = text === "";
    if (text === this.element.textContent) return;
    this.element.textContent = text;
    this.place();
  }

  /** The cursor may be elsewhere now. */
  place(): void {
    if (this.element.hidden) return;
    const screen = this.element.parentElement;
    if (!screen) return;
    const { cols, rows, options, buffer } = this.terminal;
    const { cursorX, cursorY } = buffer.active;
    const height = screen.clientHeight / rows;
    const { style } = this.element;
    style.top = `${cursorY * height}px`;
    style.left = `${(Math.min(cursorX, cols - 1) * screen.clientWidth) / cols}px`;
    style.height = style.lineHeight = `${height}px`;
    style.fontSize = `${options.fontSize}px`;
  }
}
