import { expect, test } from "vitest";
import { Meter } from "./meter";

test("before anything arrived there are no figures", () => {
  expect(new Meter().figures(0)).toEqual({ perSecond: 0, toPaint: null, waiting: 0 });
});

test("what arrived waits until it is drawn, and the last drawing says how long that took", () => {
  const meter = new Meter();
  meter.arrived(100, 0);
  meter.drawn(100, 4);
  meter.arrived(150, 10);
  meter.arrived(250, 20);
  expect(meter.figures(30)).toEqual({ perSecond: 3, toPaint: 4, waiting: 150 });
  meter.drawn(250, 32);
  expect(meter.figures(40)).toEqual({ perSecond: 3, toPaint: 12, waiting: 0 });
});

test("updates are those of the last second", () => {
  const meter = new Meter();
  for (let at = 0; at < 2000; at += 100) meter.arrived(at, at);
  expect(meter.figures(1999).perSecond).toBe(10);
  expect(meter.figures(2499).perSecond).toBe(5);
  expect(meter.figures(9000).perSecond).toBe(0);
});

test("a stream that begins elsewhere leaves nothing of the former one to be waited for", () => {
  const meter = new Meter();
  meter.arrived(1000, 0);
  meter.arrived(10, 5);
  meter.drawn(10, 7);
  expect(meter.figures(8)).toEqual({ perSecond: 2, toPaint: 2, waiting: 0 });
});
