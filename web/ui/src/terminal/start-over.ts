import type { Terminal } from "@xterm/xterm";
import type { Size } from "../protocol";

/**
 * Empties a terminal after what was written before, whatever sequence a cut left open, and gives it a size. `emptied`
 * does the same for what is kept beside the terminal.
 */
export function startOver(terminal: Terminal, size: Size, emptied: () => void = () => undefined): void {
  // Without the cancel, the first bytes of a snapshot would be taken for the rest of the sequence.
  terminal.write(CANCEL, () => {
    terminal.reset();
    emptied();
    terminal.resize(size.columns, size.rows);
  });
}

/** CAN aborts any sequence (ECMA-48, and DEC's parser). */
const CANCEL = "\x18";
