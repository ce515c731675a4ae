/**
 * The runs of a row that a font draws as one sign though the daemon counts the cells of each part: families, and signs
 * with a skin tone. Drawn as one cell as wide as all of them, they leave what follows in its column.
 */
export function joinedSigns(text: string): [start: number, end: number][] {
  if (!JOINT.test(text)) return [];
  return [...text.matchAll(JOINED)].map(({ index, 0: { length } }) => [index, index + length]);
}

/** Zero width joiner, and the skin tones. */
const JOINT = /\u200d|\p{Emoji_Modifier}/u;
const SIGN = String.raw`\p{Extended_Pictographic}\ufe0f?\p{Emoji_Modifier}?`;
const JOINED = new RegExp(String.raw`${SIGN}(?:\u200d${SIGN})+|\p{Emoji_Modifier_Base}\ufe0f?\p{Emoji_Modifier}`, "gu");
