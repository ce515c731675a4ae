import { expect, test } from "vitest";
import { Keyboard } from "./keyboard";

test("what was pushed is popped, and too many pops leave no flags", () => {
  const keyboard = new Keyboard();
  keyboard.push(1);
  keyboard.push(5);
  expect(keyboard.flags(false)).toBe(5);
  keyboard.pop(1);
  expect(keyboard.flags(false)).toBe(1);
  keyboard.pop(60_000);
  expect(keyboard.flags(false)).toBe(0);
});

test("flags are set, added and taken away", () => {
  const keyboard = new Keyboard();
  keyboard.set(3, 1);
  keyboard.set(8, 2);
  expect(keyboard.flags(false)).toBe(11);
  keyboard.set(2, 3);
  expect(keyboard.flags(false)).toBe(9);
});

test("the alternate screen has flags of its own", () => {
  const keyboard = new Keyboard();
  keyboard.push(1);
  expect(keyboard.flags(true)).toBe(0);
  keyboard.push(8);
  expect(keyboard.flags(true)).toBe(8);
  expect(keyboard.flags(false)).toBe(1);
});

test("a program cannot push without end", () => {
  const keyboard = new Keyboard();
  for (let at = 0; at < 10_000; at += 1) keyboard.push(1);
  keyboard.pop(17);
  expect(keyboard.flags(false)).toBe(0);
});
