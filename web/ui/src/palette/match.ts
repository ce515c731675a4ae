/** How well a text fits what a person typed: the smaller, the better; null where it does not. */
export function fit(query: string, text: string): number | null {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const lower = text.toLowerCase();
  let sum = 0;
  for (const word of words) {
    const cost = fitOfWord(word, lower);
    if (cost === null) return null;
    sum += cost;
  }
  return sum;
}

/** What fits, the best first; equals stay in their order. */
export function matching<T>(query: string, items: readonly T[], textOf: (item: T) => string): T[] {
  const scored = items.flatMap((item) => {
    const cost = fit(query, textOf(item));
    return cost === null ? [] : [{ item, cost }];
  });
  return scored.sort((a, b) => a.cost - b.cost).map(({ item }) => item);
}

/** The start of the text, the start of a word, anywhere, or else its letters in their order with others between. */
function fitOfWord(word: string, text: string): number | null {
  if (text.startsWith(word)) return 0;
  const inside = text.indexOf(word);
  if (inside > 0) return new RegExp(`[^\\p{L}\\p{N}]${escaped(word)}`, "u").test(text) ? 1 : 2;
  return isScattered(word, text) ? 3 : null;
}

function isScattered(word: string, text: string): boolean {
  let at = 0;
  for (const letter of word) {
    at = text.indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
