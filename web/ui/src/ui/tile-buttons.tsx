import { strings } from "../strings";
import { Close, SplitBelow, SplitRight } from "./icons";
import type { Side, Tile } from "./tile";

/** What can be done with a tile as such. */
export function TileButtons({ tile }: { tile: Tile }) {
  return (
    <>
      <SplitButton tile={tile} side="right" />
      <SplitButton tile={tile} side="below" />
      <button type="button" class="square" aria-label={strings.desktop.close} title={strings.desktop.close} onClick={tile.close}>
        <Close />
      </button>
    </>
  );
}

function SplitButton({ tile, side }: { tile: Tile; side: Side }) {
  if (!tile.fits[side]) return null;
  const name = strings.desktop.split[side];
  return (
    <button type="button" class="square" aria-label={name} title={name} onClick={() => tile.split(side)}>
      {side === "right" ? <SplitRight /> : <SplitBelow />}
    </button>
  );
}
