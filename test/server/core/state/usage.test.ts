import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  commands,
  holdingsOf,
  readHolding,
  readUsage,
  type State,
  type UsageAnswer,
  usageRowKey,
} from "../../../../src/server/core/state/index.ts";
import { assertDigest, type Bench, bench, HOUR, member, START } from "./harness.ts";

const WINDOW = Math.floor(START / HOUR);
const report = { b: "b/team", w: WINDOW, window_ms: HOUR, limit: 1_000, limit_rev: 1, spent: 0, want: 0, ret: 0 };
type Report = typeof report & { readonly need?: number };

function cluster(...nodes: readonly string[]) {
  const at = bench({ members: nodes.map((id) => member(id)) });
  at.now = WINDOW * HOUR;
  return at;
}
const begin = (at: Bench, id: string): number => {
  const fields = {
    storage: "a".repeat(32),
    raft_addr: "",
    forward_addr: "",
    version: "",
    proto: [1, 1],
    feature: [1, 1],
  };
  const value = at.ok({ t: "node.start", v: 1, p: { id, ...fields } });
  return (value as { incarnation: number }).incarnation;
};
const ask = (at: Bench, node: string, inc: number, ...rows: readonly Partial<Report>[]): readonly UsageAnswer[] => {
  const value = at.ok(commands.usageReport({ node, inc, rows: rows.map((row) => ({ ...report, ...row })) }));
  return (value as { rows: readonly UsageAnswer[] }).rows;
};
const usageOf = (state: State) =>
  readUsage(state.get(usageRowKey({ bucket: "b/team", window_ms: HOUR, window: WINDOW })) ?? "");

test("a node is granted what it asks for, up to half of its share of the remainder", () => {
  const at = cluster("n1", "n2");
  const inc = begin(at, "n1");
  assert.deepEqual(ask(at, "n1", inc, { want: 100 }), [
    { b: "b/team", w: WINDOW, window_ms: HOUR, granted: 100, remaining: 900 },
  ]);
  assert.deepEqual(ask(at, "n1", inc, { want: 900 })[0]?.granted, 100 + 225);
});

test("returned units may be granted to others and cannot be returned twice", () => {
  const at = cluster("n1", "n2");
  const [one, two] = [begin(at, "n1"), begin(at, "n2")];
  ask(at, "n1", one, { want: 200 });
  assert.equal(ask(at, "n1", one, { spent: 50, ret: 100 })[0]?.remaining, 900);
  assert.equal(ask(at, "n1", one, { spent: 50, ret: 100 })[0]?.remaining, 900);
  assert.equal(ask(at, "n1", one, { spent: 150, ret: 999 })[0]?.remaining, 850);
  assert.equal(ask(at, "n2", two, { want: 10 })[0]?.remaining, 840);
});

test("the last units of a limit are granted in useful pieces", () => {
  const at = cluster("n1", "n2", "n3");
  const inc = begin(at, "n1");
  let granted = 0;
  let requestCount = 0;
  for (; granted < 1_000; requestCount += 1) granted = ask(at, "n1", inc, { want: 1_000 })[0]?.granted ?? 0;
  assert.equal(granted, 1_000);
  assert.ok(requestCount < 40, `${requestCount} reports`);
  assert.deepEqual(ask(at, "n1", inc, { want: 1 })[0], {
    b: "b/team",
    w: WINDOW,
    window_ms: HOUR,
    granted: 1_000,
    remaining: 0,
  });
});

test("spending above a grant is charged, and no grant exceeds the limit", () => {
  const at = cluster("n1");
  const inc = begin(at, "n1");
  ask(at, "n1", inc, { want: 500 });
  assert.equal(ask(at, "n1", inc, { spent: 700 })[0]?.remaining, 300);
  assert.equal(ask(at, "n1", inc, { spent: 1_200, want: 100 })[0]?.granted, 500);
  assert.equal(usageOf(at.state).open, 1_200);
});

test("a new start closes the node's grants at their full amount", () => {
  const at = cluster("n1", "n2");
  const inc = begin(at, "n1");
  ask(at, "n1", inc, { want: 200, spent: 20 });
  const next = begin(at, "n1");
  assert.deepEqual(usageOf(at.state), {
    bucket: "b/team",
    window_ms: HOUR,
    window: WINDOW,
    limit: 1_000,
    limit_rev: 1,
    used: 200,
    open: 0,
    granted: 0,
    spent: 0,
  });
  assert.deepEqual([...at.state.scan(holdingsOf("n1"))], []);
  const late = commands.usageReport({ node: "n1", inc, rows: [{ ...report, spent: 30 }] });
  assert.equal(at.refusal(late), "stale_incarnation");
  assert.equal(ask(at, "n1", next, { want: 50 })[0]?.granted, 50);
});

test("of very many grants some are closed at the start and the others when they are reported", () => {
  const at = cluster("n1");
  const inc = begin(at, "n1");
  const buckets = Array.from({ length: 2_500 }, (_, n) => ({ b: `b/key/k/${String(n).padStart(4, "0")}` }));
  for (let from = 0; from < buckets.length; from += 500) {
    ask(at, "n1", inc, ...buckets.slice(from, from + 500).map((row) => ({ ...row, want: 100 })));
  }
  const next = begin(at, "n1");
  assert.equal([...at.state.scan(holdingsOf("n1"))].length, 500);
  for (const { b } of [buckets[0]!, buckets[2_499]!]) {
    assert.deepEqual(ask(at, "n1", next, { b, want: 10 })[0], {
      b,
      w: WINDOW,
      window_ms: HOUR,
      granted: 10,
      remaining: 890,
    });
    const row = readUsage(at.state.get(usageRowKey({ bucket: b, window_ms: HOUR, window: WINDOW })) ?? "");
    assert.deepEqual([row.used, row.open, row.granted, row.spent], [100, 10, 10, 0]);
  }
  assertDigest(at.state);
});

const leased = (at: Bench, node: string, inc: number, row: Partial<Report> & { pledge: number; seq: number }) =>
  ask(at, node, inc, row)[0];
const MINUTE = 60_000;

test("a node silent for a minute keeps its pledge, and the rest goes to nodes that need more than is left", () => {
  const at = cluster("n1", "n2");
  const [one, two] = [begin(at, "n1"), begin(at, "n2")];
  const first = leased(at, "n1", one, { want: 900, need: 900, spent: 0, pledge: 120, seq: 1 });
  assert.deepEqual([first?.granted, first?.returned], [900, 0]);
  leased(at, "n1", one, { spent: 100, pledge: 120, seq: 2 });
  at.now += MINUTE - 1;
  assert.equal(leased(at, "n2", two, { want: 500, need: 500, pledge: 500, seq: 1 })?.granted, 100);
  at.now += 1;
  assert.deepEqual(leased(at, "n2", two, { want: 10, pledge: 500, seq: 2 })?.granted, 110);
  assert.deepEqual([usageOf(at.state).open, usageOf(at.state).granted, usageOf(at.state).spent], [230, 230, 100]);
  // It was only isolated: it learns its rest, and spent no more than its pledge.
  const back = leased(at, "n1", one, { spent: 120, pledge: 130, seq: 3 });
  assert.deepEqual([back?.granted, back?.returned], [900, 780]);
  assert.deepEqual([usageOf(at.state).open, usageOf(at.state).used], [230, 0]);
  assertDigest(at.state);
});

test("nothing is reclaimed while the remainder suffices, or from a node that never reported a pledge", () => {
  const at = cluster("n1", "n2");
  const [one, two] = [begin(at, "n1"), begin(at, "n2")];
  ask(at, "n1", one, { want: 250 });
  at.now += 10 * MINUTE;
  assert.equal(leased(at, "n2", two, { want: 900, need: 900, pledge: 900, seq: 1 })?.granted, 750);
  assert.equal(usageOf(at.state).open, 1_000);
  const other = cluster("n1", "n2");
  const [third, fourth] = [begin(other, "n1"), begin(other, "n2")];
  leased(other, "n1", third, { want: 250, pledge: 10, seq: 1 });
  other.now += 10 * MINUTE;
  leased(other, "n2", fourth, { want: 100, need: 100, pledge: 100, seq: 1 });
  assert.equal(usageOf(other.state).open, 350);
});

test("a late report does not replace a newer pledge with an older one", () => {
  const at = cluster("n1", "n2");
  const [one, two] = [begin(at, "n1"), begin(at, "n2")];
  leased(at, "n1", one, { want: 400, need: 400, pledge: 50, seq: 1 });
  leased(at, "n1", one, { spent: 10, pledge: 300, seq: 3 });
  leased(at, "n1", one, { spent: 5, pledge: 20, seq: 2 });
  at.now += MINUTE;
  leased(at, "n2", two, { want: 1_000, need: 1_000, pledge: 1_000, seq: 1 });
  assert.equal(usageOf(at.state).open, 1_000);
  assert.equal(readHolding(at.state.get([...at.state.scan(holdingsOf("n1"))][0]?.[0] ?? "") ?? "").returned, 100);
});

test("a dead process is charged its pledge, and the unreported part is known", () => {
  const at = cluster("n1", "n2");
  const one = begin(at, "n1");
  leased(at, "n1", one, { want: 600, need: 600, spent: 40, pledge: 90, seq: 1 });
  begin(at, "n1");
  const { used, open, granted, spent, untold } = usageOf(at.state);
  assert.deepEqual({ used, open, granted, spent, untold }, { used: 90, open: 0, granted: 0, spent: 0, untold: 50 });
  assertDigest(at.state);
});

test("rows and reports from before pledges are read and answered as before", () => {
  const at = cluster("n1");
  const inc = begin(at, "n1");
  assert.deepEqual(Object.keys(ask(at, "n1", inc, { want: 10 })[0] ?? {}), [
    "b",
    "w",
    "window_ms",
    "granted",
    "remaining",
  ]);
  const [[, holding] = ["", ""]] = at.state.scan(holdingsOf("n1"));
  assert.deepEqual(Object.keys(JSON.parse(holding.slice(1))), [
    "bucket",
    "window_ms",
    "window",
    "node",
    "inc",
    "granted",
    "returned",
    "spent",
  ]);
  const usage = at.state.get(usageRowKey({ bucket: "b/team", window_ms: HOUR, window: WINDOW })) ?? "";
  assert.equal("untold" in JSON.parse(usage.slice(1)), false);
  leased(at, "n1", inc, { want: 10, pledge: 15, seq: 1 });
  begin(at, "n1");
  assert.deepEqual([usageOf(at.state).used, usageOf(at.state).untold], [15, 15]);
});

test("a removed member's grant is closed, and its reports are refused", () => {
  const at = cluster("n1", "n2");
  const inc = begin(at, "n1");
  ask(at, "n1", inc, { want: 200 });
  const entry = { index: at.state.applied.index + 1, term: 1, data: new Uint8Array(0) };
  at.state.applyConfiguration(entry, new Uint8Array(0), ["n2"]);
  assert.deepEqual([usageOf(at.state).used, usageOf(at.state).open], [200, 0]);
  assert.equal(at.refusal(commands.usageReport({ node: "n1", inc, rows: [] })), "not_a_member");
});

test("windows too far in the future or past get nothing, and a past one is settled without a grant", () => {
  const at = cluster("n1");
  const inc = begin(at, "n1");
  ask(at, "n1", inc, { want: 100 });
  assert.equal(ask(at, "n1", inc, { w: WINDOW + 1, want: 10 })[0]?.granted, 10);
  for (const w of [WINDOW + 2, WINDOW - 3]) {
    assert.deepEqual(ask(at, "n1", inc, { w, want: 10, spent: 5 }), [
      { b: "b/team", w, window_ms: HOUR, granted: 0, remaining: 0 },
    ]);
  }
  at.now += 2 * HOUR;
  assert.equal(ask(at, "n1", inc, { spent: 300, want: 10 })[0]?.granted, 100);
  assert.equal(usageOf(at.state).open, 300);
});

test("the rows of a window are dropped two windows later", () => {
  const at = cluster("n1");
  const inc = begin(at, "n1");
  ask(at, "n1", inc, { want: 100 });
  const kept = () => [...at.state.scan("usage/"), ...at.state.scan("alloc/")].length;
  at.now += 3 * HOUR - 1;
  ask(at, "n1", inc, { w: WINDOW + 2 });
  assert.equal(kept(), 4);
  at.now += 1;
  ask(at, "n1", inc, { w: WINDOW + 2 });
  assert.equal(kept(), 2);
});

test("the limit of the newest configuration applies", () => {
  const at = cluster("n1");
  const inc = begin(at, "n1");
  ask(at, "n1", inc, { want: 400 });
  assert.equal(ask(at, "n1", inc, { limit: 300, limit_rev: 2, want: 10 })[0]?.granted, 400);
  assert.equal(ask(at, "n1", inc, { limit: 9_000, limit_rev: 1, want: 10 })[0]?.granted, 400);
  assert.equal(ask(at, "n1", inc, { limit: 2_000, limit_rev: 3, want: 10 })[0]?.granted, 410);
});

test("malformed reports are refused", () => {
  const at = cluster("n1");
  const inc = begin(at, "n1");
  const many = Array.from({ length: 501 }, () => report);
  for (const rows of [many, {}, [{ ...report, spent: -1 }], [{ ...report, want: 1e13 }], [{ ...report, b: "" }]]) {
    assert.equal(at.refusal({ t: "usage.report", v: 1, p: { node: "n1", inc, rows } }), "invalid");
  }
});

/** Nodes that follow the rules: they spend within their grants and lower what they return first. */
const steps = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        do: fc.constant("work" as const),
        node: fc.nat(2),
        spend: fc.nat(300),
        want: fc.nat(600),
        give: fc.nat(100),
        fate: fc.constantFrom("sent", "lost", "late", "twice"),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const), node: fc.nat(2) }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant("limit" as const), limit: fc.integer({ min: 500, max: 3_000 }) }),
    },
  ),
  { maxLength: 80 },
);

test("grants never exceed the limit or fall below what is spent, whatever is lost, late or duplicated", () => {
  fc.assert(
    fc.property(steps, (list) => {
      const at = cluster("n0", "n1", "n2");
      const nodes = [0, 1, 2].map((n) => ({ id: `n${n}`, inc: begin(at, `n${n}`), granted: 0, spent: 0, ret: 0 }));
      const late: { readonly node: (typeof nodes)[number]; readonly inc: number; readonly row: Report }[] = [];
      let highest = 1_000;
      let limit = 1_000;
      let rev = 1;
      let total = 0;
      const send = (inc: number, node: (typeof nodes)[number], row: Report, isHeard: boolean) => {
        const result = at.run(commands.usageReport({ node: node.id, inc, rows: [row] }));
        if (result.kind === "refused") {
          assert.equal(result.code, "stale_incarnation");
          return;
        }
        const [answer] = (result.value as { rows: readonly UsageAnswer[] }).rows;
        if (isHeard && inc === node.inc) node.granted = Math.max(node.granted, answer?.granted ?? 0);
      };
      for (const step of list) {
        if (step.do === "limit") {
          limit = step.limit;
          highest = Math.max(highest, limit);
          rev += 1;
        } else if (step.do === "restart") {
          const node = nodes[step.node]!;
          Object.assign(node, { inc: begin(at, node.id), granted: 0, spent: 0, ret: 0 });
        } else {
          const node = nodes[step.node]!;
          const spend = Math.min(step.spend, node.granted - node.ret - node.spent);
          node.spent += spend;
          total += spend;
          node.ret += Math.min(step.give, node.granted - node.ret - node.spent);
          const row = { ...report, limit, limit_rev: rev, spent: node.spent, ret: node.ret, want: step.want };
          if (step.fate === "late") late.push({ node, inc: node.inc, row });
          if (step.fate === "sent" || step.fate === "twice") send(node.inc, node, row, true);
          if (step.fate === "twice") send(node.inc, node, row, false);
          if (late.length > 2) {
            const old = late.shift()!;
            send(old.inc, old.node, old.row, false);
          }
        }
        if (at.state.get(usageRowKey({ bucket: "b/team", window_ms: HOUR, window: WINDOW })) === undefined) continue;
        const usage = usageOf(at.state);
        const held = Array.from(at.state.scan("alloc/"), ([, value]) => readHolding(value));
        const sum = (of: (row: (typeof held)[number]) => number) => held.reduce((all, row) => all + of(row), 0);
        assert.equal(
          usage.open,
          sum((row) => Math.max(row.granted - row.returned, row.spent)),
        );
        assert.equal(
          usage.granted,
          sum((row) => row.granted - row.returned),
        );
        assert.equal(
          usage.spent,
          sum((row) => row.spent),
        );
        assert.ok(usage.used + usage.open <= highest, "granted above the limit");
        assert.ok(total <= usage.used + usage.open, "spent and not charged");
      }
      assertDigest(at.state);
    }),
    { numRuns: 150 },
  );
});
