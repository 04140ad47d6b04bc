/**
 * A day in the ledger: judged once it is mature, judged again when its report is corrected, its breaches reported once.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { DAY_MS, startOfDayMs } from "../../../../src/server/reconcile/judge/days.ts";
import type { ReportedUsage, Tokens } from "../../../../src/server/reconcile/judge/judge-usage.ts";
import {
  entryFields,
  type LedgerEntry,
  parseEntry,
  unrecordedBreaches,
  updateEntry,
  verdictsOf,
  withRecordedBreaches,
} from "../../../../src/server/reconcile/judge/ledger-entry.ts";
import { parseRound, roundFields } from "../../../../src/server/reconcile/judge/round-entry.ts";

const DAY = "2026-11-17";
const LAG = 2 * DAY_MS;
const MATURE = startOfDayMs(DAY) + DAY_MS + LAG;

const of = (output: number): ReportedUsage => ({
  tokens: { input: 0, cached_input: 0, cache_creation_input: 0, output },
  joined: [],
});
const tokensOf = (output: number): Tokens => ({ input: 0, cached_input: 0, cache_creation_input: 0, output });

const step = (
  before: LedgerEntry | undefined,
  { reported = 1_000_000, metered = 1_000_000, now = MATURE, isKnown = true, by: nodeId = "n1" } = {},
): LedgerEntry =>
  updateEntry({ day: DAY, provider: "acme", type: "compat", scope: "organisation", reported: of(reported) }, before, {
    now,
    lagMs: LAG,
    rules: { driftRatio: 0.02, driftFloor: 10_000 },
    metered: isKnown ? { tokens: tokensOf(metered), unmeasured: 3 } : undefined,
    nodeId,
  });

const breaching = (entry: LedgerEntry) => verdictsOf(entry).flatMap((it) => (it.breach ? it.class : []));

describe("reconciliation entry", () => {
  it("is judged at its maturity and not before, and not without metering", () => {
    assert.equal(step(undefined, { now: MATURE - 1 }).judged, undefined);
    assert.equal(step(undefined, { isKnown: false }).judged, undefined);
    const { judged } = step(undefined);
    assert.deepEqual([judged?.at, judged?.unmeasured, judged?.by], [MATURE, 3, "n1"]);
  });

  it("is unchanged without news, whichever node looks and whenever", () => {
    const first = step(undefined);
    assert.equal(step(first, { now: MATURE + DAY_MS, by: "n2" }), first);
  });

  it("is judged again when its report is corrected, in either direction", () => {
    const first = step(undefined, { reported: 970_000 });
    assert.deepEqual(breaching(first), ["output"]);
    const corrected = step(first, { reported: 1_000_000, now: MATURE + 1 });
    assert.deepEqual([breaching(corrected), corrected.judged?.at], [[], MATURE + 1]);
    assert.deepEqual(breaching(step(corrected, { reported: 970_000 })), ["output"]);
  });

  it("is reported once: a lasting breach is not new, and one that returns is", () => {
    const first = step(undefined, { reported: 900_000 });
    assert.deepEqual(
      unrecordedBreaches(first).map((it) => it.class),
      ["output"],
    );
    const recorded = withRecordedBreaches(first);
    assert.deepEqual(unrecordedBreaches(recorded), []);
    const worse = step(recorded, { reported: 800_000 });
    assert.notEqual(worse, recorded);
    assert.deepEqual(unrecordedBreaches(worse), []);
    const gone = step(worse, { reported: 1_000_000 });
    assert.deepEqual(unrecordedBreaches(step(gone, { reported: 900_000 })).length, 1);
  });

  it("keeps its verdict while metering is unknown", () => {
    const first = step(undefined, { reported: 900_000 });
    assert.deepEqual(verdictsOf(step(first, { reported: 900_000, isKnown: false })), verdictsOf(first));
  });

  it("survives a round trip through its row", () => {
    const count = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
    fc.assert(
      fc.property(count, count, fc.boolean(), fc.boolean(), (reported, metered, isMature, isTold) => {
        const made = step(undefined, { reported, metered, now: isMature ? MATURE : MATURE - 1 });
        const entry = isTold ? withRecordedBreaches(made) : made;
        const row = JSON.parse(JSON.stringify(entryFields(entry)));
        assert.deepEqual(parseEntry(DAY, "acme", row), entry);
        assert.ok(Object.keys(row).length <= 48);
      }),
    );
  });

  it("is not read from a row with other content", () => {
    assert.equal(parseEntry(DAY, "acme", { type: "other", scope: "keys" }), undefined);
    assert.equal(parseEntry(DAY, "acme", { type: "compat" }), undefined);
    const strange = parseEntry(DAY, "acme", { type: "compat", scope: "keys", "input.reported": -1, "judged.at": "x" });
    assert.deepEqual([strange?.reported.tokens.input, strange?.judged], [null, undefined]);
  });
});

describe("reconciliation round", () => {
  it("is restored from its row", () => {
    const round = { provider: "acme", type: "messages", scope: "keys", triedAt: 5, fetchedAt: 4, error: "no" } as const;
    assert.deepEqual(parseRound("acme", roundFields(round)), round);
    const fresh = { ...round, fetchedAt: undefined, error: undefined };
    assert.deepEqual(parseRound("acme", roundFields(fresh)), fresh);
    assert.equal(parseRound("acme", {}), undefined);
  });
});
