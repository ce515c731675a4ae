import { expect, test } from "vitest";
import { utf8 } from "./encoding";
import { EventParser } from "./sse";

test("an event ends with an empty line and keeps its id", () => {
  const events = new EventParser().push(utf8('id: 7\nevent: session\ndata: {"a":1}\n\n'));
  expect(events).toEqual([{ kind: "session", data: '{"a":1}', id: "7" }]);
});

test("chunks may be cut anywhere, inside a character too", () => {
  const bytes = utf8("id: 1\nevent: session\ndata: grün → 漢\n\nid: 2\ndata: b\n\n");
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    const parser = new EventParser();
    const events = [...parser.push(bytes.subarray(0, cut)), ...parser.push(bytes.subarray(cut))];
    expect(events.map(({ data }) => data)).toEqual(["grün → 漢", "b"]);
  }
});

test("comments and events without data are nothing", () => {
  expect(new EventParser().push(utf8(": keepalive\n\nevent: gap\n\n"))).toEqual([]);
});

test("line ends of every kind are line ends, and a pair of them is one", () => {
  const parser = new EventParser();
  expect([...parser.push(utf8("data: a\r")), ...parser.push(utf8("\n\r\ndata: b\n\n"))].map(({ data }) => data)).toEqual(["a", "b"]);
});

test("several data lines are joined", () => {
  expect(new EventParser().push(utf8("data: a\ndata:b\ndata\n\n"))[0]?.data).toBe("a\nb\n");
});
