import { expect, test } from "vitest";
import { extended, lengthOf, shifted, wordAt, type Span } from "./words";

const word = (text: string, column: number): string => {
  const { first, last } = wordAt([...text], column);
  return [...text].slice(first, last + 1).join("");
};

test("a word is a path, an address or a name, whole", () => {
  expect(word("cat /etc/hosts; ls", 6)).toBe("/etc/hosts");
  expect(word("see https://a.example/x?y=1 (now)", 10)).toBe("https://a.example/x?y=1");
  expect(word("(now)", 2)).toBe("now");
  expect(word("größe über", 1)).toBe("größe");
});

test("the second cell of a wide sign belongs to it", () => expect(wordAt(["a", " ", "한", "", "글", "", " "], 3)).toEqual({ first: 2, last: 5 }));

test("blanks are no part of a word", () => expect(word("a   b", 2)).toBe("   "));

const span: Span = { from: { column: 4, row: 1 }, to: { column: 9, row: 1 } };

test("a finger that goes on makes the span longer, and on its way back never shorter than the word", () => {
  expect(extended(span, { column: 2, row: 3 })).toEqual({ from: span.from, to: { column: 2, row: 3 } });
  expect(extended(span, { column: 70, row: 0 })).toEqual({ from: { column: 70, row: 0 }, to: span.to });
  expect(extended(span, { column: 6, row: 1 })).toEqual(span);
});

test("from one cell a span goes either way", () => {
  const end: Span = { from: span.to, to: span.to };
  expect(extended(end, { column: 20, row: 1 })).toEqual({ from: { column: 9, row: 1 }, to: { column: 20, row: 1 } });
  expect(extended(end, { column: 0, row: 0 })).toEqual({ from: { column: 0, row: 0 }, to: { column: 9, row: 1 } });
});

test("a span moves down with its rows", () => {
  expect(shifted(span, 3)).toEqual({ from: { column: 4, row: 4 }, to: { column: 9, row: 4 } });
  expect(shifted(shifted(span, 3), -3)).toEqual(span);
});

test("a length counts whole rows between", () => {
  expect(lengthOf(span, 80)).toBe(6);
  expect(lengthOf({ from: { column: 79, row: 0 }, to: { column: 0, row: 2 } }, 80)).toBe(82);
});
