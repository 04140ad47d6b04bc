/** The usage ledger of the state machine: exactly once, bounded, aggregated, and the same on every replica. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { scanPacked } from "../../../../src/server/core/state/commands/used-packing.ts";
import {
  COUNTS,
  commands,
  dayText,
  FIXED_NAMES,
  featureRowKey,
  HOPS,
  KEPT_DAYS,
  KEPT_HOURS,
  MAX_CALLER_ROWS,
  MAX_OTHER_ROWS,
  MAX_ROWS_A_CALLER,
  NAMED_FIELDS,
  packRows,
  periodsOf,
  readMetered,
  type State,
  scanPeriod,
} from "../../../../src/server/core/state/index.ts";
import { assertDigest, type Bench, bench, DAY, HOUR, member, proposalOf, START } from "./harness.ts";

const NOW = Math.floor(START / DAY) * DAY + 12 * HOUR;
const hourOf = (ms: number): number => Math.floor(ms / HOUR);

interface Use {
  readonly hour?: number;
  readonly hop?: (typeof HOPS)[number];
  readonly caller?: string;
  readonly profile?: string;
  readonly provider?: string;
  readonly model?: string;
  readonly counts: readonly number[];
}

function report(uses: readonly Use[], at = NOW) {
  const names: string[] = [...FIXED_NAMES];
  const number = (name: string): number => {
    const known = names.indexOf(name);
    return known >= 0 ? known : names.push(name) - 1;
  };
  const rows = uses.map(
    ({ hour = hourOf(at), hop = "llm", caller = "a", profile = "", provider = "p", model = "m", counts }) => [
      hour,
      HOPS.indexOf(hop),
      number(caller),
      number(profile),
      number(provider),
      number(model),
      ...counts,
    ],
  );
  const metered = uses.map(({ hour = hourOf(at), provider = "p", counts }) => [
    hour,
    number(provider),
    0,
    counts[0] ?? 0,
    counts[2] ?? 0,
  ]);
  return { names: names.slice(FIXED_NAMES.length), rows: packRows(rows), metered: packRows(metered) };
}

function cluster(...nodes: readonly string[]): Bench {
  const at = bench({ members: nodes.map((id) => member(id, { incarnation: 1, feature: [1, 3] })) });
  at.now = NOW;
  at.ok(commands.featSet({ level: 3 }));
  return at;
}
const add = (at: Bench, node: string, seq: number, uses: readonly Use[], inc = 1) =>
  commands.usedAdd({ node, inc, seq, ...report(uses, at.now) });

interface Row {
  readonly when: string;
  readonly key: string;
  readonly counts: readonly number[];
}

function rowsOf(state: State): readonly Row[] {
  const rows: Row[] = [];
  for (const of of periodsOf(state)) {
    scanPeriod(state, of, (row, names) => {
      const [hop = 0, ...named] = row.slice(0, NAMED_FIELDS);
      const key = [HOPS[hop], ...named.map((name) => names[name])].join(" ");
      rows.push({ when: `${of.span}${of.at}`, key, counts: row.slice(NAMED_FIELDS) });
    });
  }
  return rows;
}
const sums = (state: State): readonly number[] =>
  COUNTS.map((_, at) => rowsOf(state).reduce((sum, { counts }) => sum + (counts[at] ?? 0), 0));
const metered = (state: State) => Array.from(state.scan("met/"), ([, value]) => readMetered(value));

const some: Use = { counts: [1, 0, 10, 20, 30, 40, 5, 7] };

test("increments are summed by hour, traffic type, caller, profile, provider and model", () => {
  const at = cluster("n1", "n2");
  at.ok(add(at, "n1", 1, [some, { ...some, caller: "b" }, { ...some, hop: "mcp", provider: "tools", model: "" }]));
  at.ok(add(at, "n2", 1, [some]));
  assert.deepEqual(rowsOf(at.state), [
    { when: `h${hourOf(NOW)}`, key: "llm a  p m", counts: [2, 0, 20, 40, 60, 80, 10, 14] },
    { when: `h${hourOf(NOW)}`, key: "llm b  p m", counts: some.counts },
    { when: `h${hourOf(NOW)}`, key: "mcp a  tools ", counts: some.counts },
  ]);
  assert.deepEqual(
    metered(at.state).map(({ day, provider, input }) => [day, provider, input]),
    [
      [dayText(Math.floor(NOW / DAY)), "p", 30],
      [dayText(Math.floor(NOW / DAY)), "tools", 10],
    ],
  );
  assertDigest(at.state);
});

test("a repeated report adds nothing, a missing one is requested, and one of an earlier process is refused", () => {
  const at = cluster("n1");
  at.ok(add(at, "n1", 1, [some]));
  assert.deepEqual(at.ok(add(at, "n1", 1, [some])), { added: false, last: 1 });
  assert.equal(at.refusal(add(at, "n1", 3, [some])), "sequence_gap");
  assert.equal(at.refusal(add(at, "n1", 2, [some], 2)), "stale_incarnation");
  assert.equal(at.refusal(add(at, "nobody", 1, [some])), "not_a_member");
  const { incarnation: _, ...started } = member("n1", { storage: "a".repeat(32), feature: [1, 3] });
  const { incarnation } = at.ok(commands.nodeStart(started)) as { incarnation: number };
  assert.equal(at.refusal(add(at, "n1", 2, [some])), "stale_incarnation");
  assert.deepEqual(at.ok(add(at, "n1", 1, [some], incarnation)), { added: true, last: 1 });
  assert.deepEqual(sums(at.state)[0], 2);
});

test("with lost, duplicated, late or outdated reports sums are never too high, and too low only by what was not added", () => {
  const step = fc.record({
    node: fc.constantFrom("n1", "n2", "n3"),
    what: fc.constantFrom("new", "new", "again", "lost", "stale", "restart"),
    amount: fc.integer({ min: 0, max: 1_000 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const at = cluster("n1", "n2", "n3");
      const nodes = new Map(
        ["n1", "n2", "n3"].map((id) => [id, { inc: 1, seq: 0, sent: undefined as undefined | ReturnType<typeof add> }]),
      );
      let expected = 0;
      let calls = 0;
      for (const { node, what, amount } of steps) {
        const known = nodes.get(node)!;
        if (what === "restart") {
          const { incarnation: _, ...started } = member(node, { storage: "a".repeat(32), feature: [1, 3] });
          known.inc = (at.ok(commands.nodeStart(started)) as { incarnation: number }).incarnation;
          known.seq = 0;
          continue;
        }
        if (what === "again" || what === "stale") {
          if (known.sent !== undefined) at.run(known.sent);
          continue;
        }
        calls += amount;
        // A lost report was never sent by a killed node, so its number is used by the next.
        if (what === "lost") continue;
        known.seq += 1;
        known.sent = add(at, node, known.seq, [{ counts: [amount] }], known.inc);
        at.ok(known.sent);
        expected += amount;
      }
      assert.equal(sums(at.state)[0], expected);
      assert.ok(expected <= calls);
      assert.equal(
        metered(at.state).reduce((sum, { answers }) => sum + answers, 0),
        expected,
      );
      assertDigest(at.state);
    }),
    { numRuns: 100 },
  );
});

test("above 2,000 rows an hour the rest is under `other`, sums are complete, and replicas agree", () => {
  const [one, two] = [cluster("n1"), cluster("n1")];
  const callers = Array.from({ length: 10_000 }, (_, at) => ({
    caller: `caller-${at}`,
    model: `m${at % 20}`,
    counts: [1, 0, 3],
  }));
  for (const at of [one, two]) {
    for (let part = 0; part < 5; part += 1)
      at.ok(add(at, "n1", part + 1, callers.slice(part * 2_000, part * 2_000 + 2_000)));
  }
  const rows = rowsOf(one.state);
  assert.equal(rows.filter(({ key }) => !key.startsWith("llm other ")).length, MAX_CALLER_ROWS);
  assert.equal(rows.filter(({ key }) => key.startsWith("llm other ")).length, 20);
  assert.deepEqual(sums(one.state).slice(0, 3), [10_000, 0, 30_000]);
  assert.equal(one.state.digest, two.state.digest);
});

test("the longest names and very many models keep an hour within its limit and its sums by provider exact", () => {
  const at = cluster("n1");
  const uses = (part: number): readonly Use[] =>
    Array.from({ length: 1_000 }, (_, each) => ({
      caller: `${part * 1_000 + each}`.padEnd(128, "é"),
      provider: `p${each % 3}`,
      model: `${part * 1_000 + each}`.padEnd(128, "ö"),
      counts: [1],
    }));
  for (let part = 0; part < 5; part += 1) at.ok(add(at, "n1", part + 1, uses(part)));
  const { byteLength } = at.state;
  assert.ok(byteLength < 256 * 1_024, `${byteLength}`);
  assert.ok(rowsOf(at.state).length <= MAX_CALLER_ROWS + MAX_OTHER_ROWS + HOPS.length);
  const byProvider = [0, 1, 2].map((p) =>
    rowsOf(at.state)
      .filter(({ key }) => key.includes(` p${p} `))
      .reduce((sum, { counts }) => sum + counts[0]!, 0),
  );
  assert.deepEqual(byProvider, [1_670, 1_665, 1_665]);
});

test("hours become days after a week, days are dropped after 400, and nothing is lost in between", () => {
  const at = cluster("n1");
  at.ok(add(at, "n1", 1, [some, { ...some, hour: hourOf(NOW) - 1 }, { ...some, hour: hourOf(NOW) - KEPT_HOURS + 1 }]));
  assert.deepEqual(
    rowsOf(at.state).map(({ when }) => when[0]),
    ["h", "h", "h"],
  );
  at.now += 2 * HOUR;
  at.ok(add(at, "n1", 2, []));
  assert.deepEqual(
    rowsOf(at.state).map(({ when }) => when[0]),
    ["d", "h", "h"],
  );
  at.now += 8 * DAY;
  for (let seq = 3; seq < 6; seq += 1) at.ok(add(at, "n1", seq, []));
  assert.deepEqual(
    rowsOf(at.state).map(({ when }) => when),
    [`d${Math.floor(NOW / DAY) - 7}`, `d${Math.floor(NOW / DAY)}`],
  );
  assert.equal(sums(at.state)[0], 3);
  at.now += KEPT_DAYS * DAY;
  at.ok(add(at, "n1", 6, []));
  assert.deepEqual([rowsOf(at.state), metered(at.state)], [[], []]);
  assertDigest(at.state);
});

test("usage with a wrong clock is counted within the last week", () => {
  const at = cluster("n1");
  at.ok(
    add(at, "n1", 1, [
      { ...some, hour: hourOf(NOW) + 1 },
      { ...some, hour: 0 },
      { ...some, hour: hourOf(NOW) - 200 },
    ]),
  );
  assert.deepEqual(
    rowsOf(at.state).map(({ when, counts }) => [when, counts[0]]),
    [
      [`h${hourOf(NOW) - KEPT_HOURS + 1}`, 2],
      [`h${hourOf(NOW)}`, 1],
    ],
  );
});

test("nothing is added until every member supports the ledger", () => {
  const at = bench({ members: [member("n1", { incarnation: 1, feature: [1, 3] }), member("n2", { feature: [1, 2] })] });
  assert.equal(at.refusal(add(at, "n1", 1, [some])), "feature_level");
  assert.equal(at.state.get(featureRowKey), undefined);
});

test("malformed reports are refused and leave nothing behind", () => {
  const at = cluster("n1");
  const good = report([some]);
  for (const wrong of [
    { ...good, rows: "1,2,3,4,5,6,7,8,9,a,b,c,d,e,f" },
    { ...good, rows: "A" },
    { ...good, rows: "zzzzzzzzzzzz" },
    { ...good, rows: `${hourOf(NOW).toString(36)},9` },
    { ...good, rows: `${hourOf(NOW).toString(36)},0,99` },
    { ...good, names: ["a".repeat(129)] },
    { ...good, metered: `${hourOf(NOW).toString(36)},2,9` },
  ]) {
    assert.match(at.refusal(commands.usedAdd({ node: "n1", inc: 1, seq: 1, ...wrong })), /^(invalid|state_fault)$/);
  }
});

test("a restored state has the ledger of its archive, and report numbers restart at 1", () => {
  const at = cluster("n1");
  at.ok(add(at, "n1", 1, [some]));
  const rows = Array.from(at.state.scan("used/"), ([key]) => key);
  assert.equal(rows.length, 2);
  assert.deepEqual(
    Array.from(at.state.scan("reported/"), ([key]) => key),
    ["reported/n1"],
  );
});

test("packed rows survive a round trip, whatever the numbers", () => {
  const row = fc.array(fc.maxSafeNat(), { minLength: 4, maxLength: 4 });
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 20 }), (rows) => {
      const back: number[][] = [];
      scanPacked(packRows(rows), 4, (each) => void back.push([...each]));
      assert.deepEqual(back, rows);
    }),
  );
  assert.equal(
    packRows([
      [1, 0, 36],
      [2, 0, 0],
    ]),
    "1,,10;2",
  );
});

test("days are named as in the calendar", () => {
  for (let day = 0; day < 60_000; day += 37) {
    assert.equal(dayText(day), new Date(day * DAY).toISOString().slice(0, 10));
  }
});

test("an entry takes its time from the log alone: two machines that apply it at different times agree", () => {
  const data = proposalOf(add(cluster("n1"), "n1", 1, [some]), { s: 9 }, NOW);
  const [one, two] = [cluster("n1"), cluster("n1")];
  for (const at of [one, two]) at.state.apply({ index: at.state.applied.index + 1, term: 1, data });
  assert.equal(one.state.digest, two.state.digest);
});

test("a caller that invents models fills its own rows and leaves the rest of the hour to others", () => {
  const at = cluster("n1");
  const invented = Array.from(
    { length: 3_000 },
    (_, n): Use => ({ ...some, caller: "inventor", model: `invented-${n}` }),
  );
  at.ok(add(at, "n1", 1, invented));
  at.ok(
    add(at, "n1", 2, [
      { ...some, caller: "inventor", model: "invented-9" },
      { ...some, caller: "team" },
    ]),
  );
  const rows = rowsOf(at.state);
  const requestsOf = (key: string) => rows.filter((row) => row.key === key).map(({ counts }) => counts[0]);
  assert.equal(rows.length, MAX_ROWS_A_CALLER + 2);
  assert.deepEqual(requestsOf("llm inventor  p other"), [3_000 - MAX_ROWS_A_CALLER]);
  assert.deepEqual(requestsOf("llm inventor  p invented-9"), [2]);
  assert.deepEqual(requestsOf("llm team  p m"), [1]);
  assert.equal(sums(at.state)[0], 3_002);
});
