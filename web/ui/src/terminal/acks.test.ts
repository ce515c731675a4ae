import { expect, test } from "vitest";
import { Acks } from "./acks";

/** Acks with a frame that the test lets come. */
function acks(): { acks: Acks; told: number[]; frame: () => void } {
  const told: number[] = [];
  let waiting: (() => void)[] = [];
  return {
    acks: new Acks((offset) => told.push(offset), (act) => waiting.push(act)),
    told,
    frame: () => {
      const now = waiting;
      waiting = [];
      for (const act of now) act();
    },
  };
}

test("what is drawn within a frame is told once, with the last offset", () => {
  const { acks: subject, told, frame } = acks();
  subject.advance(10);
  subject.advance(20);
  expect(told).toEqual([]);
  frame();
  frame();
  expect(told).toEqual([20]);
});

test("64 KiB are told at once", () => {
  const { acks: subject, told } = acks();
  subject.advance(65_536);
  expect(told).toEqual([65_536]);
});

test("a new attachment is told again what is drawn", () => {
  const { acks: subject, told, frame } = acks();
  subject.advance(10);
  frame();
  subject.restart();
  subject.advance(10);
  frame();
  expect(told).toEqual([10, 10]);
});
