/**
 * What a paste sends: line ends as Enter sends them, and between markers where the program asked for that
 * (bracketed paste). A pasted end marker would end the bracket early, and what follows would be typed.
 */
export function pasted(text: string, bracketed: boolean): string {
  const lines = text.replaceAll(/\r\n|\n/g, "\r");
  return bracketed ? `\x1b[200~${withoutMarkers(lines)}\x1b[201~` : lines;
}

/** Taking a marker out may join another one together, so it goes on until there is none. */
function withoutMarkers(text: string): string {
  for (let before = text; ; before = text) {
    text = before.replaceAll(/(?:\x1b\[|\x9b)20[01]~/g, "");
    if (text === before) return text;
  }
}
