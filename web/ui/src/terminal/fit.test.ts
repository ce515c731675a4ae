import { expect, test } from "vitest";
import { fittingSize, fontSize, pinchedSize, type Space } from "./fit";

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

test("a session that fits a screen has letters of a good size there", () => {
  const size = fittingSize({ width: 378, height: 560, cellWidth: 0.6, cellHeight: 1.35 });
  expect(size).toEqual({ columns: 48, rows: 31 });
  expect(fontSize("whole", { width: 378, height: 560, cellWidth: 0.6, cellHeight: 1.35, ...size })).toBeGreaterThanOrEqual(13);
  expect(fittingSize({ width: 1, height: 1e6, cellWidth: 0.6, cellHeight: 1.35 })).toEqual({ columns: 1, rows: 1000 });
});

test("a pinch makes letters larger or smaller, within what can be read", () => {
  expect(pinchedSize(8, 2)).toBe(16);
  expect(pinchedSize(13, 0.1)).toBe(5.5);
  expect(pinchedSize(13, 10)).toBe(32);
  expect(pinchedSize(10, 1.01)).toBe(10);
});

test("letters that a person has pinched are the good size from then on", () => {
  expect(fontSize("readable", PHONE, 20)).toBe(20);
  expect(fittingSize(PHONE, 20).columns).toBeLessThan(fittingSize(PHONE).columns);
});
