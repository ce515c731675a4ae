import type { IParser } from "@xterm/xterm";

/** In which form the program wants keys, as far as the widget does not know it itself; the daemon keeps the same. */
export class Keyboard {
  /** xterm's `modifyOtherKeys`. */
  otherKeys: 0 | 1 | 2 = 0;
  private readonly screens = [new Flags(), new Flags()] as const;
  private shown: Flags = this.screens[0];

  /** The flags of kitty's protocol in force on a screen, which is the one that shows from here on. */
  flags(isAlternate: boolean): number {
    this.shown = this.screens[isAlternate ? 1 : 0];
    return this.shown.now;
  }

  /** Saves the flags in force and goes on with others. */
  push(flags: number): void {
    this.shown.saved = [...this.shown.saved, this.shown.now].slice(-MOST_SAVED);
    this.shown.now = flags;
  }

  /** Goes back by some; to no flags where there is nothing more to go back to. */
  pop(count: number): void {
    for (let at = 0; at < Math.min(count, MOST_SAVED + 1); at += 1) this.shown.now = this.shown.saved.pop() ?? 0;
  }

  /** Sets the flags (mode 1), adds to them (2), or takes from them (3). */
  set(flags: number, mode: number): void {
    const { now } = this.shown;
    this.shown.now = mode === 2 ? now | flags : mode === 3 ? now & ~flags : flags;
  }

  /** A terminal that starts over. */
  reset(): void {
    this.otherKeys = 0;
    for (const screen of this.screens) Object.assign(screen, new Flags());
  }

  /** Listens to what the program asks for. `isAlternate` says which screen shows. */
  follow(parser: IParser, isAlternate: () => boolean): void {
    const heard = (act: (first: number, second: number) => void) => (parameters: (number | number[])[]): boolean => {
      this.flags(isAlternate());
      const [first = 0, second = 0] = parameters.flat();
      act(first, second);
      return true;
    };
    parser.registerCsiHandler({ prefix: ">", final: "u" }, heard((flags) => this.push(flags)));
    parser.registerCsiHandler({ prefix: "<", final: "u" }, heard((count) => this.pop(Math.max(1, count))));
    parser.registerCsiHandler({ prefix: "=", final: "u" }, heard((flags, mode) => this.set(flags, mode)));
    parser.registerCsiHandler({ prefix: ">", final: "m" }, heard((resource, level) => this.modify(resource, level)));
    parser.registerCsiHandler({ prefix: ">", final: "n" }, heard((resource) => this.modify(resource, 0)));
    parser.registerEscHandler({ final: "c" }, () => {
      this.reset();
      return false;
    });
  }

  /** Resource 4 is `modifyOtherKeys`; none means all of them. */
  private modify(resource: number, level: number): void {
    if (resource === MODIFY_OTHER_KEYS || resource === 0) this.otherKeys = level === 1 || level === 2 ? level : 0;
  }
}

class Flags {
  now = 0;
  saved: number[] = [];
}

const MODIFY_OTHER_KEYS = 4;
/** As many as the daemon keeps. */
const MOST_SAVED = 16;
