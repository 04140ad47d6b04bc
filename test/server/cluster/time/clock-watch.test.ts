/** Reports about differing clocks, and transfers of leadership because of them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createClockWatch, maySetTime } from "../../../../src/server/cluster/time/clock-watch.ts";
import { createClocks } from "../../../../src/server/cluster/time/clocks.ts";
import { memoryLog } from "../support/outcome.ts";

const HOUR = 3_600_000;
const EPOCH = 1_700_000_000_000;
const VOTERS = { voters: ["a", "b", "c"], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };

function bench(role: "leader" | "follower", silent: readonly string[] = []) {
  const { log, lines } = memoryLog();
  const clocks = createClocks({ wall: () => EPOCH, monotonic: () => 0 });
  const handedOver: (readonly string[])[] = [];
  let isReluctant = false;
  let logNow = EPOCH;
  let level = 5;
  const look = createClockWatch({
    nodeId: "a",
    clocks,
    log,
    memberIds: () => VOTERS.voters,
    logNow: () => logNow,
    featureLevel: () => level,
    status: () => ({ role, configuration: VOTERS }),
    isHeard: (id) => !silent.includes(id),
    setReluctant(is) {
      isReluctant = is;
    },
    handOverTo: (ids) => handedOver.push(ids),
  });
  return {
    lines,
    handedOver,
    isReluctant: () => isReluctant,
    set(offsets: Readonly<Record<string, number>>) {
      for (const [id, offsetMs] of Object.entries(offsets)) {
        clocks.addReading(id, { atMs: EPOCH + offsetMs, monotonicMs: 0, roundTripMs: 1 });
      }
    },
    setLog(aheadMs: number, atLevel: number) {
      logNow = EPOCH + aheadMs;
      level = atLevel;
    },
    look(times = 1) {
      for (let time = 0; time < times; time += 1) look();
    },
  };
}

test("a leader whose clock is far off hands leadership to an accurate one, retrying until it is taken", () => {
  for (const sign of [1, -1]) {
    const made = bench("leader");
    made.set({ b: sign * 30_500, c: sign * 30_500 });
    made.look(11);
    assert.equal(made.isReluctant(), true);
    assert.deepEqual(made.handedOver, [
      ["b", "c"],
      ["b", "c"],
    ]);
  }
});

test("a leader stays if its clock is close, no other member is heard, or the others are the outliers", () => {
  const near = bench("leader");
  near.set({ b: 29_000, c: 29_000 });
  const alone = bench("leader", ["b", "c"]);
  alone.set({ b: HOUR, c: HOUR });
  const unusual = bench("leader");
  unusual.set({ b: HOUR, c: -HOUR });
  for (const made of [near, alone, unusual]) {
    made.look(10);
    assert.deepEqual(made.handedOver, []);
  }
  assert.deepEqual([near.isReluctant(), alone.isReluctant(), unusual.isReluctant()], [false, true, false]);
});

test("a clock that is off is reported once, and once when it is right again", () => {
  const made = bench("follower");
  made.set({ b: 900, c: 0 });
  made.look(2);
  assert.equal(made.lines.length, 0);
  made.set({ b: HOUR });
  made.look(3);
  assert.deepEqual(
    made.lines.map(({ level, fields }) => [level, fields]),
    [["warn", { member: "b", ahead_ms: HOUR }]],
  );
  assert.match(made.lines[0]?.message ?? "", /is 3600 s ahead of the median/);
  made.set({ b: 10 });
  made.look(3);
  assert.deepEqual(made.lines[1]?.level, "info");
  assert.equal(made.lines.length, 2);
  assert.deepEqual(made.handedOver, []);
});

test("a log ahead of the members' clocks is reported once, with the clock that applies, and once when it is right again", () => {
  for (const [level, message] of [
    [5, /windows, suspensions and expiries use the members' clocks/],
    [4, /shared budgets are not served/],
  ] as const) {
    const made = bench("follower");
    made.setLog(4_900, level);
    made.look(2);
    assert.equal(made.lines.length, 0);
    made.setLog(596_000, level);
    made.look(3);
    assert.equal(made.lines.length, 1);
    assert.match(made.lines[0]?.message ?? "", /the time of the log is 596 s ahead of the members' clocks/);
    assert.match(made.lines[0]?.message ?? "", message);
    made.setLog(0, level);
    made.look(2);
    assert.deepEqual(
      made.lines.map(({ level: of }) => of),
      ["warn", "info"],
    );
  }
});

test("a member sets the log's time while its clock is within thirty seconds of the median", () => {
  const clocks = createClocks({ wall: () => EPOCH, monotonic: () => 0 });
  assert.equal(maySetTime(clocks, "b"), true, "one whose clock is not known");
  clocks.addReading("c", { atMs: EPOCH, monotonicMs: 0, roundTripMs: 1 });
  for (const [offsetMs, may] of [
    [0, true],
    [29_000, true],
    [-29_000, true],
    [31_000, false],
    [-31_000, false],
    [-HOUR, false],
  ] as const) {
    // Among several readings the fastest counts.
    for (let reading = 0; reading < 8; reading += 1) {
      clocks.addReading("b", { atMs: EPOCH + offsetMs, monotonicMs: 0, roundTripMs: 1 });
    }
    assert.equal(maySetTime(clocks, "b"), may, `${offsetMs} ms`);
  }
});
