import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  MAX_WINDOW_MS,
  MIN_WINDOW_MS,
  resetsAt,
  secondsUntil,
  windowAt,
  windowLength,
} from "../../../../src/server/core/budgets/index.ts";

const lengthOf = (text: string): number => {
  const length = windowLength(text);
  assert.equal(length.kind, "length", text);
  return length.kind === "length" ? length.windowMs : 0;
};

test("a window is a name or a duration", () => {
  const lengths: readonly (readonly [string, number])[] = [
    ["minute", 60_000],
    ["hour", 3_600_000],
    ["day", 86_400_000],
    ["week", 604_800_000],
    ["12h", 43_200_000],
    ["1h30m", 5_400_000],
    ["1s", 1_000],
    ["1.5s", 1_500],
  ];
  for (const [text, ms] of lengths) assert.equal(lengthOf(text), ms, text);
});

test("an invalid or useless window is refused with the reason", () => {
  const refused: readonly (readonly [string, RegExp])[] = [
    ["month", /expected `minute`/],
    ["", /expected/],
    ["0s", /one second/],
    ["-1h", /one second/],
    ["999ms", /one second/],
    ["90000h", /ten years/],
    ["1000.5ms", /whole number/],
  ];
  for (const [text, reason] of refused) {
    const length = windowLength(text);
    assert.equal(length.kind, "invalid", text);
    assert.match(length.kind === "invalid" ? length.message : "", reason);
  }
});

test("windows are aligned to the epoch, in UTC", () => {
  const rows: readonly (readonly [string, string, string])[] = [
    ["minute", "2026-11-21T20:08:44.000Z", "2026-11-21T20:09:00.000Z"],
    ["hour", "2026-11-21T20:59:59.999Z", "2026-11-21T21:00:00.000Z"],
    ["day", "2026-11-21T00:00:00.000Z", "2026-11-22T00:00:00.000Z"],
    ["12h", "2026-11-21T11:59:59.999Z", "2026-11-21T12:00:00.000Z"],
    ["12h", "2026-11-21T12:00:00.000Z", "2026-11-22T00:00:00.000Z"],
    // A Saturday: the week ends on the following Thursday.
    ["week", "2026-11-21T20:08:44.000Z", "2026-11-26T00:00:00.000Z"],
    ["week", "2026-11-26T00:00:00.000Z", "2026-12-03T00:00:00.000Z"],
    // A leap day is an ordinary day.
    ["day", "2028-02-29T12:00:00.000Z", "2028-03-01T00:00:00.000Z"],
    // Does not divide a day, and drifts: 20,593 days are 70,604 times 7 hours and 4 hours.
    ["7h", "2026-05-20T02:00:00.000Z", "2026-05-20T03:00:00.000Z"],
  ];
  for (const [text, now, end] of rows) {
    const windowMs = lengthOf(text);
    assert.equal(
      new Date(resetsAt(windowAt(Date.parse(now), windowMs), windowMs)).toISOString(),
      end,
      `${text} ${now}`,
    );
  }
});

test("each instant is in one window, windows have no gaps, and the wait leads into the next", () => {
  // The model counts windows from the epoch in unbounded integers.
  const modelWindow = (now: bigint, length: bigint): bigint => (now - (((now % length) + length) % length)) / length;
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 8_640_000_000_000_000 }),
      fc.oneof(
        fc.constantFrom(60_000, 3_600_000, 86_400_000, 604_800_000),
        fc.integer({ min: MIN_WINDOW_MS, max: MAX_WINDOW_MS }),
      ),
      (now, windowMs) => {
        const window = windowAt(now, windowMs);
        assert.equal(BigInt(window), modelWindow(BigInt(now), BigInt(windowMs)));
        const end = resetsAt(window, windowMs);
        assert.ok(end - windowMs <= now && now < end);
        assert.equal(windowAt(end, windowMs), window + 1);
        assert.equal(windowAt(end - 1, windowMs), window);
        const seconds = secondsUntil(end, now);
        assert.ok(seconds >= 1 && windowAt(now + seconds * 1_000, windowMs) > window);
        assert.ok(seconds === 1 || now + (seconds - 1) * 1_000 < end);
      },
    ),
    { numRuns: 2_000 },
  );
});
