import { beforeEach, expect, test } from "vitest";
import { Connection, type LinkEnd, type Surroundings } from "./connection";

/** A link whose runs the test opens and ends, in a world whose time the test owns. */
class World implements Surroundings {
  runs: { opened: () => void; end: (end: LinkEnd) => void; signal: AbortSignal }[] = [];
  probes: ((result: number | LinkEnd) => void)[] = [];
  timers: { at: number; act: () => void }[] = [];
  time = 1000;
  visible = true;
  readonly connection = new Connection(
    (opened, signal) => new Promise((end) => this.runs.push({ opened, end, signal })),
    () => new Promise((result) => this.probes.push(result)),
    this,
  );

  now = (): number => this.time;
  random = (): number => 1;
  isOnline = (): boolean => true;
  isVisible = (): boolean => this.visible;
  after = (milliseconds: number, act: () => void): (() => void) => {
    const timer = { at: this.time + milliseconds, act };
    this.timers.push(timer);
    return () => (this.timers = this.timers.filter((other) => other !== timer));
  };

  async pass(milliseconds: number): Promise<void> {
    this.time += milliseconds;
    const due = this.timers.filter(({ at }) => at <= this.time);
    this.timers = this.timers.filter(({ at }) => at > this.time);
    for (const { act } of due) act();
    await settled();
  }

  async live(): Promise<void> {
    this.connection.start();
    this.runs.at(-1)?.opened();
    await this.pass(400);
    this.probes.at(-1)?.(12);
    await settled();
  }

  get kind(): string {
    return this.connection.state.value.kind;
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
let world: World;
beforeEach(() => (world = new World()));

test("a live connection knows its round trip", async () => {
  await world.live();
  expect(world.kind).toBe("live");
  expect(world.connection.roundTrip.value).toBe(12);
});

test("a cut link is opened again after a delay", async () => {
  await world.live();
  world.runs[0]?.end({ kind: "lost" });
  await settled();
  expect(world.kind).toBe("reconnecting");
  expect(world.connection.roundTrip.value).toBeNull();
  await world.pass(99);
  expect(world.runs).toHaveLength(1);
  await world.pass(1);
  expect(world.runs).toHaveLength(2);
  world.runs[1]?.opened();
  expect(world.kind).toBe("live");
});

test("links that are cut as soon as they open are opened ever less often, until one lasts", async () => {
  world.connection.start();
  for (const delay of [100, 200, 400]) {
    world.runs.at(-1)?.opened();
    world.runs.at(-1)?.end({ kind: "lost" });
    await settled();
    const before = world.runs.length;
    await world.pass(delay - 1);
    expect(world.runs).toHaveLength(before);
    await world.pass(1);
    expect(world.runs).toHaveLength(before + 1);
  }
  world.runs.at(-1)?.opened();
  await world.pass(5000);
  world.runs.at(-1)?.end({ kind: "lost" });
  await settled();
  await world.pass(100);
  expect(world.runs).toHaveLength(5);
});

test("a daemon that asks for patience gets it", async () => {
  world.connection.start();
  world.runs[0]?.end({ kind: "lost", retryAfter: 7 });
  await settled();
  await world.pass(6999);
  expect(world.runs).toHaveLength(1);
  await world.pass(1);
  expect(world.runs).toHaveLength(2);
});

test("what the daemon said at the cut is shown until it is live again", async () => {
  await world.live();
  world.runs[0]?.end({ kind: "lost", why: "restarting" });
  await settled();
  expect(world.connection.state.value).toMatchObject({ kind: "reconnecting", why: "restarting" });
  await world.pass(100);
  world.runs[1]?.end({ kind: "lost" });
  await settled();
  expect(world.connection.state.value).toMatchObject({ kind: "reconnecting", why: "restarting" });
  await world.pass(200);
  world.runs[2]?.opened();
  expect(world.connection.state.value).toEqual({ kind: "live" });
});

test("refused three times, it is live one step of the back-off after the daemon answers", async () => {
  world.connection.start();
  for (const delay of [100, 200, 400]) {
    world.runs.at(-1)?.end({ kind: "lost" });
    await settled();
    await world.pass(delay);
  }
  expect(world.runs).toHaveLength(4);
  world.runs.at(-1)?.opened();
  expect(world.kind).toBe("live");
});

test("a page that was frozen for minutes tries at once, without a wait from before", async () => {
  await world.live();
  world.connection.sleep();
  world.runs[0]?.end({ kind: "lost" });
  await settled();
  world.time += 300_000;
  world.connection.wake();
  expect(world.runs).toHaveLength(2);
});

test("coming back tries at once instead of waiting", async () => {
  world.connection.start();
  world.runs[0]?.end({ kind: "lost" });
  await settled();
  world.connection.wake();
  expect(world.runs).toHaveLength(2);
  await world.pass(60_000);
  expect(world.runs).toHaveLength(2);
});

test("a link that slept is opened anew; one that blinked is asked", async () => {
  await world.live();
  world.connection.sleep();
  world.time += 1000;
  world.connection.wake();
  expect(world.runs).toHaveLength(1);
  expect(world.probes).toHaveLength(2);
  world.connection.sleep();
  world.time += 60_000;
  world.connection.wake();
  expect(world.runs).toHaveLength(2);
  expect(world.runs[0]?.signal.aborted).toBe(true);
  expect(world.kind).toBe("reconnecting");
});

test("a page from the back-forward cache is never taken for live", async () => {
  await world.live();
  world.connection.wake(true);
  expect(world.runs).toHaveLength(2);
  expect(world.kind).toBe("reconnecting");
});

test("a try that nobody answers is given up and followed by another", async () => {
  world.connection.start();
  await world.pass(29_999);
  expect(world.kind).toBe("connecting");
  await world.pass(1);
  expect(world.kind).toBe("unreachable");
  expect(world.runs[0]?.signal.aborted).toBe(true);
  await world.pass(100);
  expect(world.runs).toHaveLength(2);
});

test("a try that was under way when the page fell asleep is begun anew", async () => {
  world.connection.start();
  world.connection.sleep();
  world.time += 60_000;
  world.connection.wake();
  expect(world.runs).toHaveLength(2);
  expect(world.runs[0]?.signal.aborted).toBe(true);
});

test("a machine that slept behind its lid, with the page in view, opens a new link at once", async () => {
  await world.live();
  await world.pass(2_000);
  expect(world.runs).toHaveLength(1);
  await world.pass(3_600_000);
  expect(world.runs).toHaveLength(2);
  expect(world.runs[0]?.signal.aborted).toBe(true);
});

test("timers that are late because nobody looks are no sign of a sleep", async () => {
  await world.live();
  world.visible = false;
  world.connection.sleep();
  await world.pass(60_000);
  expect(world.runs).toHaveLength(1);
});

test("a clock that is set back by hours in a blink leaves a live link alone, and the next sleep is noticed", async () => {
  await world.live();
  world.connection.sleep();
  world.time -= 7_200_000;
  world.connection.wake();
  expect(world.runs).toHaveLength(1);
  expect(world.kind).toBe("live");
  world.connection.sleep();
  world.time += 60_000;
  world.connection.wake();
  expect(world.runs).toHaveLength(2);
});

test("a clock that is set forward by hours costs one new link and no more", async () => {
  await world.live();
  await world.pass(7_200_000);
  expect(world.runs).toHaveLength(2);
  world.runs[1]?.opened();
  await world.pass(2_000);
  expect(world.runs).toHaveLength(2);
  expect(world.kind).toBe("live");
});

test.each(["expired", "revoked", "unrecognised", "not_permitted"] as const)("%s that a new link is told ends it, after a cut as well", async (reason) => {
  await world.live();
  world.runs[0]?.end({ kind: "lost", why: "restarting" });
  await settled();
  await world.pass(100);
  world.runs[1]?.end({ kind: "ended", reason });
  await settled();
  expect(world.connection.state.value).toEqual({ kind: "ended", reason });
  world.connection.wake(true);
  await world.pass(600_000);
  expect(world.runs).toHaveLength(2);
});

test("a link that is cut for another role is opened anew, as the daemon takes it at once", async () => {
  await world.live();
  world.runs[0]?.end({ kind: "lost" });
  await settled();
  await world.pass(100);
  world.runs[1]?.opened();
  expect(world.kind).toBe("live");
});

test("a stream that died without a word is found by a probe", async () => {
  await world.live();
  await world.pass(10_000);
  world.probes.at(-1)?.({ kind: "lost" });
  await settled();
  expect(world.kind).toBe("reconnecting");
  expect(world.runs[0]?.signal.aborted).toBe(true);
});

test("nobody is probed while nobody looks", async () => {
  await world.live();
  world.visible = false;
  await world.pass(60_000);
  expect(world.probes).toHaveLength(1);
});

test("the system's word that the network is gone is a reason to ask, not to believe", async () => {
  await world.live();
  world.connection.network(false);
  expect(world.kind).toBe("live");
  world.probes.at(-1)?.({ kind: "lost" });
  await settled();
  expect(world.kind).toBe("reconnecting");
});

test("a revoked device asks for nothing any more", async () => {
  await world.live();
  world.runs[0]?.end({ kind: "ended", reason: "revoked" });
  await settled();
  world.connection.wake(true);
  world.connection.network(true);
  world.connection.start();
  await world.pass(600_000);
  expect(world.connection.state.value).toEqual({ kind: "ended", reason: "revoked" });
  expect(world.runs).toHaveLength(1);
  expect(world.probes).toHaveLength(1);
});

test("a revocation that a probe finds ends the link too", async () => {
  await world.live();
  await world.pass(10_000);
  world.probes.at(-1)?.({ kind: "ended", reason: "revoked" });
  await settled();
  expect(world.connection.state.value).toEqual({ kind: "ended", reason: "revoked" });
  expect(world.runs[0]?.signal.aborted).toBe(true);
});

test("what a former run still says is not heard", async () => {
  world.connection.start();
  world.connection.start();
  world.runs[0]?.opened();
  world.runs[0]?.end({ kind: "ended", reason: "gone" });
  await settled();
  expect(world.kind).toBe("connecting");
});

test("a link that is being probed is not probed a second time, and the answer leads to the next", async () => {
  world.connection.start();
  world.runs[0]?.opened();
  await world.pass(400);
  expect(world.probes).toHaveLength(1);
  world.connection.network(true);
  world.connection.sleep();
  world.connection.wake();
  expect(world.probes).toHaveLength(1);
  world.probes[0]?.(12);
  await settled();
  await world.pass(10_000);
  expect(world.probes).toHaveLength(2);
});

test("a probe whose link was cut keeps the next one from nothing", async () => {
  await world.live();
  world.connection.network(true);
  world.connection.wake(true);
  world.runs.at(-1)?.opened();
  await world.pass(400);
  expect(world.probes).toHaveLength(3);
});
