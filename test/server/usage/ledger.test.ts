/**
 * A node's part of the ledger on its way to the cluster: real commands on a real state machine, over a failing link.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createInstruments } from "../../../src/base/index.ts";
import type { Use } from "../../../src/server/core/budgets/index.ts";
import {
  COUNTS,
  commands,
  MAX_CALLER_ROWS,
  MAX_OTHER_ROWS,
  NAMED_FIELDS,
  periodsOf,
  type State,
  scanPeriod,
} from "../../../src/server/core/state/index.ts";
import { createAccumulator, MAX_UNREPORTED_ROWS } from "../../../src/server/usage/accumulator.ts";
import { meteredOfProvider, openLedger } from "../../../src/server/usage/index.ts";
import { type Bench, bench, DAY, HOUR, member, START } from "../core/state/harness.ts";

const use = (more: Partial<Use> = {}): Use => ({
  hop: "llm",
  caller: "team",
  profile: "",
  provider: "p",
  model: "m",
  kind: "tokens",
  requests: 1,
  failed: 0,
  tokens: {
    inputTokens: 100,
    cachedInputTokens: 60,
    cacheCreationInputTokens: 10,
    outputTokens: 5,
    reasoningTokens: 2,
  },
  unmeasured: 0,
  units: 3,
  ...more,
});

function cluster(): Bench {
  const at = bench({ members: [member("n1", { incarnation: 1, feature: [1, 3] })] });
  at.now = Math.floor(START / DAY) * DAY + 12 * HOUR;
  at.ok(commands.featSet({ level: 3 }));
  return at;
}

interface Summed {
  readonly names: string;
  readonly counts: Readonly<Record<string, number>>;
}

function rowsOf(state: State): readonly Summed[] {
  const rows: Summed[] = [];
  for (const of of periodsOf(state)) {
    scanPeriod(state, of, (row, names) => {
      const named = row.slice(1, NAMED_FIELDS).map((name) => names[name]);
      const counts = Object.fromEntries(COUNTS.map((name, at) => [name, row[NAMED_FIELDS + at] ?? 0]));
      rows.push({ names: named.join("|"), counts });
    });
  }
  return rows;
}
const requestsIn = (state: State): number =>
  rowsOf(state).reduce((sum, { counts }) => sum + (counts["requests"] ?? 0), 0);

type AttemptOutcome = "applied" | "answer lost" | "never came";

/** `fate` decides each attempt in turn. */
function open(at: Bench, outcomeOf: () => AttemptOutcome = () => "applied", { hasLeader = true } = {}) {
  let incarnation = 1;
  const listeners = new Set<() => void>();
  const warnings: unknown[] = [];
  const log = {
    debug() {},
    info() {},
    warn: (text: string) => warnings.push(text),
    error: (text: string) => warnings.push(text),
  };
  const instruments = createInstruments();
  let attempts = 0;
  const ledger = openLedger({
    now: () => at.now,
    instruments,
    log,
    everyMs: 60_000,
    reports: {
      async add(inc, seq, report) {
        attempts += 1;
        const how = outcomeOf();
        if (how === "never came") throw new Error("no leader");
        const result = at.run(commands.usedAdd({ node: "n1", inc, seq, ...report }));
        if (how === "answer lost") throw new Error("no answer");
        if (result.kind === "refused") return result;
        const { added, last } = result.value as { added: boolean; last: number };
        return added ? { kind: "added" } : { kind: "known", last };
      },
      incarnation: () => incarnation,
      onIncarnation(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      takesReports: () => true,
      hasLeader: () => hasLeader,
      mustRollUp: () => false,
    },
  });
  return {
    ledger,
    warnings,
    attempts: () => attempts,
    restartAs(inc: number) {
      incarnation = inc;
      for (const listener of listeners) listener();
    },
  };
}

test("usage is in the ledger at the end, in disjoint classes", async () => {
  const at = cluster();
  const { ledger } = open(at);
  ledger.add(use());
  ledger.add(use({ failed: 1, tokens: undefined, unmeasured: 1 }));
  ledger.add(use({ hop: "mcp", provider: "tools", model: "", tokens: undefined, units: 1 }));
  await ledger.close();
  assert.deepEqual(rowsOf(at.state), [
    {
      names: "team||p|m",
      counts: {
        requests: 2,
        failed: 1,
        input_tokens: 30,
        cached_input_tokens: 60,
        cache_creation_input_tokens: 10,
        output_tokens: 5,
        reasoning_tokens: 2,
        units: 6,
      },
    },
    {
      names: "team||tools|",
      counts: { ...Object.fromEntries(COUNTS.map((name) => [name, 0])), requests: 1, units: 1 },
    },
  ]);
  const day = Math.floor(at.now / DAY);
  const [metered, ...more] = meteredOfProvider(at.state, "p", day - 1, day + 1);
  assert.equal(more.length, 0);
  assert.deepEqual(
    [metered?.answers, metered?.input, metered?.cached_input, metered?.output, metered?.unmeasured_streams],
    [1, 30, 60, 5, 1],
  );
});

test("a report whose answer is lost is sent again unchanged and counts once", async () => {
  const at = cluster();
  const fates: AttemptOutcome[] = ["answer lost", "never came", "answer lost"];
  const { ledger, attempts } = open(at, () => fates.shift() ?? "applied");
  ledger.add(use());
  await ledger.close();
  assert.deepEqual([requestsIn(at.state), attempts()], [1, 4]);
});

test("a report of unknown outcome at a new number is dropped, and unsent usage is not", async () => {
  const at = cluster();
  const fates: AttemptOutcome[] = ["answer lost"];
  const { ledger, restartAs, warnings } = open(at, () => fates.shift() ?? "applied");
  ledger.add(use());
  const closing = ledger.close();
  ledger.add(use({ caller: "later" }));
  const { incarnation: _, ...started } = member("n1", { storage: "a".repeat(32), feature: [1, 3] });
  const inc = (at.ok(commands.nodeStart(started)) as { incarnation: number }).incarnation;
  restartAs(inc);
  await closing;
  assert.ok(requestsIn(at.state) <= 2);
  assert.ok(requestsIn(at.state) >= 1);
  assert.ok(warnings.length <= 1);
});

test("without a leader a stop does not wait long and reports what is lost", async () => {
  const at = cluster();
  const { ledger, warnings } = open(at, () => "never came", { hasLeader: false });
  ledger.add(use());
  const began = performance.now();
  await ledger.close();
  assert.ok(performance.now() - began < 3_000);
  assert.deepEqual([requestsIn(at.state), warnings.length], [0, 1]);
});

test("a stop before the cluster knows of this start does not wait long either", async () => {
  const at = cluster();
  const { ledger, restartAs, warnings } = open(at, () => "applied", { hasLeader: false });
  restartAs(0);
  ledger.add(use());
  const began = performance.now();
  await ledger.close();
  assert.ok(performance.now() - began < 3_000);
  assert.deepEqual([requestsIn(at.state), warnings.length], [0, 1]);
});

test("whatever is lost on the way, the ledger has each request once", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom<AttemptOutcome>("applied", "applied", "answer lost", "never came"), { maxLength: 6 }),
      fc.integer({ min: 1, max: 40 }),
      async (fates, count) => {
        const at = cluster();
        const left = [...fates];
        const { ledger } = open(at, () => left.shift() ?? "applied");
        for (let each = 0; each < count; each += 1) ledger.add(use({ caller: `c${each % 7}` }));
        await ledger.close();
        assert.equal(requestsIn(at.state), count);
      },
    ),
    { numRuns: 15 },
  );
});

test("10,000 callers a minute use bounded memory, and every request is counted", () => {
  const at = cluster();
  const accumulator = createAccumulator(() => at.now);
  for (let each = 0; each < 20_000; each += 1)
    accumulator.add(use({ caller: `caller-${each}`, model: `m${each % 20}` }));
  assert.equal(accumulator.requests, 20_000);
  let reports = 0;
  let rows = 0;
  let bytes = 0;
  for (let taken = accumulator.take(); taken !== undefined; taken = accumulator.take()) {
    reports += 1;
    rows += taken.report.rows.split(";").length;
    bytes = Math.max(bytes, JSON.stringify(taken.report).length);
    at.ok(commands.usedAdd({ node: "n1", inc: 1, seq: reports, ...taken.report }));
  }
  assert.ok(rows <= MAX_UNREPORTED_ROWS + 20, `${rows}`);
  assert.ok(bytes < 512 * 1_024, `${bytes}`);
  assert.equal(requestsIn(at.state), 20_000);
  assert.equal(accumulator.requests, 0);
  const kept = rowsOf(at.state).filter(({ names }) => !names.startsWith("other|")).length;
  assert.equal(kept, MAX_CALLER_ROWS);
  assert.ok(rowsOf(at.state).length <= MAX_CALLER_ROWS + MAX_OTHER_ROWS + 1, `${rowsOf(at.state).length} rows an hour`);
});

test("hostile names stay distinct and bounded, and contain no terminal escapes", () => {
  const at = cluster();
  const accumulator = createAccumulator(() => at.now);
  const names = [
    "\u001b[2J",
    "a\u0000b",
    "\ud800",
    "__proto__",
    "constructor",
    "other",
    "",
    "x".repeat(10_000),
    "\u202eabc",
    "a,b;c",
  ];
  for (const caller of names) accumulator.add(use({ caller, model: caller, profile: caller, provider: `p${caller}` }));
  for (const caller of names) accumulator.add(use({ caller, model: caller, profile: caller, provider: `p${caller}` }));
  const taken = accumulator.take();
  assert.ok(taken !== undefined);
  at.ok(commands.usedAdd({ node: "n1", inc: 1, seq: 1, ...taken.report }));
  assert.equal(requestsIn(at.state), 2 * names.length);
  assert.equal(rowsOf(at.state).length, names.length);
  for (const { names: shown } of rowsOf(at.state)) {
    assert.doesNotMatch(shown, /[\p{Cc}\u202e]/u);
    assert.ok(shown.length < 600);
  }
});

test("usage that could not be reported keeps its hour", () => {
  const at = cluster();
  const accumulator = createAccumulator(() => at.now);
  accumulator.add(use());
  at.now += HOUR;
  accumulator.add(use());
  const taken = accumulator.take();
  at.ok(commands.usedAdd({ node: "n1", inc: 1, seq: 1, ...taken!.report }));
  assert.equal(periodsOf(at.state).length, 2);
});

test("a key named `other` is distinguished from the sum under that name", async () => {
  const at = cluster();
  const { ledger } = open(at);
  ledger.add(use({ caller: "other" }));
  ledger.add(use({ caller: "other" }));
  await ledger.close();
  assert.deepEqual(
    rowsOf(at.state).map(({ names, counts }) => [names, counts["requests"]]),
    [["key:other||p|m", 2]],
  );
});

test("a caller that invents models does not take the rows of others", () => {
  const accumulator = createAccumulator(() => START);
  for (let n = 0; n < 2 * MAX_UNREPORTED_ROWS; n += 1) {
    accumulator.add(use({ caller: "inventor", model: `invented-${n}` }));
  }
  accumulator.add(use());
  const { report, requests } = accumulator.take() ?? assert.fail("nothing to report");
  assert.equal(requests, 2 * MAX_UNREPORTED_ROWS + 1);
  assert.equal(report.rows.split(";").length, 100 + 1 + 1);
  assert.ok(report.names.includes("team"));
});
