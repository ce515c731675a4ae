import { expect, test } from "vitest";
import { fontSize, type Space } from "./fit";

const PHONE: Space = { width: 378, height: 690, columns: 100, rows: 30, cellWidth: 0.602, cellHeight: 1.35 };

test("a hundred columns fit a phone of 390 pixels", () => {
  const size = fontSize("whole", PHONE);
  expect(size * PHONE.cellWidth * PHONE.columns).toBeLessThanOrEqual(PHONE.width);
  expect(size).toBeGreaterThan(6);
});

test("letters never become too small to read: the view pans instead", () => {
  expect(fontSize("whole", { ...PHONE, columns: 400 })).toBe(5.5);
});

test("many rows scroll before letters shrink below a good size", () => {
  expect(fontSize("whole", { ...PHONE, width: 1200, height: 200 })).toBe(11);
});

test("few columns do not make huge letters", () => {
  expect(fontSize("whole", { ...PHONE, width: 2000, height: 2000, columns: 20 })).toBe(17);
});

test("the readable view does not depend on the session's size", () => {
  expect(fontSize("readable", PHONE)).toBe(fontSize("readable", { ...PHONE, columns: 300 }));
});
