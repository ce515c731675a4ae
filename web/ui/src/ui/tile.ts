import { createContext } from "preact";

/** What a session's screen knows of the tile that it is shown in. */
export interface Tile {
  /** Whether it is the tile that keys go to. */
  isFocused: boolean;
  /** Changes when a person sends the keys to it by something that is not in it. */
  calls: number;
  /** Whether there is space for another tile on its right, or below it. */
  fits: Record<Side, boolean>;
  /** Asks for a session to show beside it. */
  split: (side: Side) => void;
  /** Takes it off the screen; the session goes on. */
  close: () => void;
}

/** Where a new tile goes. */
export type Side = "right" | "below";

/** The tile around a screen; null where the screen has the page for itself. */
export const TileContext = createContext<Tile | null>(null);
