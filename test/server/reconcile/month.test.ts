/**
 * A month of days in seconds: three nodes over one replicated state, both simulated reports over HTTP, leaders that
 * change or die during a round, reports that are late, incomplete, corrected and refused. The result is compared line
 * by line with an independent computation in this file.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createInstruments, nullLog } from "../../../src/base/index.ts";
import { commands } from "../../../src/server/core/state/index.ts";
import { openGuardedDialer } from "../../../src/server/credentials/index.ts";
import { reconciledRows } from "../../../src/server/node/admin/reconciled-port.ts";
import { ledgerRows } from "../../../src/server/node/governance/open-reconciliation.ts";
import { type Breach, openReconciler, type Reconciler } from "../../../src/server/reconcile/index.ts";
import type { ReconcileTargets } from "../../../src/server/snapshot/index.ts";
import { startSimulator } from "../../../src/simulator/index.ts";
import { createMemoryCluster } from "../admin/support/memory-cluster.ts";

const SEED = Number(process.env["RECONCILE_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const DAYS = 30;
const DAY = 86_400_000;
const START = Date.UTC(2026, 8, 3);
const ADMIN = "sk-admin-canary-month";
const CLASSES = ["input", "cached_input", "cache_creation_input", "output"] as const;
const COUNTERS = ["input", "cached", "written", "output"] as const;
const PROVIDERS = [
  { provider: "one", type: "compat" },
  { provider: "two", type: "messages" },
] as const;
type Type = (typeof PROVIDERS)[number]["type"];

const dayText = (n: number): string => new Date(START + n * DAY).toISOString().slice(0, 10);

function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Shortfall of the report for a day of the month and a class of a dialect. */
const SHORT: readonly { readonly day: number; readonly type: Type; readonly at: number; readonly keeps: number }[] = [
  { day: 4, type: "compat", at: 3, keeps: 0.97 },
  { day: 6, type: "compat", at: 3, keeps: 0.981 },
  { day: 9, type: "messages", at: 1, keeps: 1.06 },
  { day: 11, type: "messages", at: 2, keeps: 2 },
  { day: 20, type: "compat", at: 0, keeps: 0 },
];
/** Nothing was used; the other dialect's usage is below the floor and half reported. */
const EMPTY_DAY = 13;
const SMALL_DAY = 15;
/** Reported short at first, and complete a day after its verdict. */
const CORRECTED_DAY = 17;

test(`a month of verdicts matches an independent calculation (RECONCILE_SEED=${SEED})`, async () => {
  const random = randomOf(SEED);
  const simulator = await startSimulator({ host: "127.0.0.1", port: 0, adminKey: ADMIN });
  const dialer = openGuardedDialer({ connectMs: 5_000, maxAnswerBytes: 1 << 20 });
  after(async () => {
    dialer.close();
    await simulator.close();
  });
  const post = async (path: string, body: unknown, headers: object = {}): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${simulator.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    assert.equal(answer.status, 200);
    return (await answer.json()) as Record<string, unknown>;
  };

  let now = START + DAY / 2;
  const clock = { now: () => now, monotonic: () => performance.now() };
  const { cluster } = createMemoryCluster(clock.now);
  await cluster.write(commands.featSet({ level: 3 }), { by: { iss: "t", sub: "t" }, timeoutMs: 1_000 });

  const metered = new Map<string, number[]>();
  const reported = new Map<string, number[]>();
  const addTo = (sums: Map<string, number[]>, key: string, counts: readonly number[]): void => {
    const before = sums.get(key) ?? [0, 0, 0, 0];
    sums.set(
      key,
      before.map((count, at) => count + (counts[at] ?? 0)),
    );
  };

  const received: Breach[] = [];
  const listeners = new Set<() => void>();
  let leader = "n1";
  const lead = (id: string): void => {
    leader = id;
    for (const listener of [...listeners]) listener();
  };
  /** Counts down the pages until an event hits the requesting node. */
  let interruption: { pages: number; end: "deposed" | "killed" } | undefined;
  const nodes = new Map<string, Reconciler>();
  const audits: ReconcileTargets = {
    intervalMs: 3_600_000,
    lagMs: 2 * DAY,
    lookbackMs: 7 * DAY,
    retentionMs: 90 * DAY,
    driftRatio: 0.02,
    driftFloor: 10_000,
    providers: PROVIDERS.map(({ provider, type }) => ({
      provider,
      type,
      baseUrl: simulator.url,
      adminKey: ADMIN,
      keyIds: [],
    })),
  };
  const killed: Promise<void>[] = [];
  const open = (id: string): void => {
    const node = openReconciler({
      node: id,
      rows: ledgerRows(cluster),
      leadership: {
        isLeader: () => leader === id,
        onChange(listener) {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
      },
      metered(provider, day) {
        const [input = 0, cached = 0, written = 0, output = 0] = metered.get(`${provider} ${day}`) ?? [];
        const tokens = { input, cached_input: cached, cache_creation_input: written, output };
        return { tokens, unmeasured: 1 };
      },
      async send(asked) {
        if (interruption !== undefined && interruption.pages-- === 0) {
          const { end } = interruption;
          interruption = undefined;
          if (end === "killed") {
            killed.push(nodes.get(id)?.close() ?? Promise.resolve());
            nodes.delete(id);
          }
          lead(["n1", "n2", "n3"].find((other) => other !== id && nodes.has(other)) ?? "n1");
        }
        return await dialer.send(asked);
      },
      record: (breach) => void received.push(breach),
      clock,
      instruments: createInstruments(),
      log: nullLog,
      pace: { firstDelayMs: 5, checkIntervalMs: 10 },
    });
    nodes.set(id, node);
    node.setTargets(audits);
  };
  for (const id of ["n1", "n2", "n3"]) open(id);

  const roundsAreDone = async (): Promise<void> => {
    const end = performance.now() + 60_000;
    const isDone = (): boolean => {
      const [node] = nodes.values();
      return (
        [...(node?.ledger.rounds() ?? [])].filter(({ value }) => value.fetchedAt === now).length === PROVIDERS.length
      );
    };
    while (!isDone()) {
      assert.ok(performance.now() < end, "the rounds of a day did not end");
      await new Promise((done) => setTimeout(done, 5));
    }
  };

  await roundsAreDone();
  const adjustments: object[] = [];
  for (let n = 0; n < DAYS; n += 1) {
    const day = dayText(n);
    await post("/sim/reports", {
      clock: new Date(now).toISOString(),
      delay_hours: 20,
      page_days: 1 + Math.floor(random() * 9),
    });
    for (const { provider, type } of PROVIDERS) {
      if (n === EMPTY_DAY) continue;
      const key = `${provider} ${day}`;
      const text = "word ".repeat(1 + Math.floor(random() * 50));
      const ask = { model: "sim-small", messages: [{ role: "user", content: text }] };
      const usage = (
        type === "compat"
          ? await post("/v1/chat/completions", ask)
          : await post("/v1/messages", { ...ask, max_tokens: 50 }, { "anthropic-version": "2023-06-01" })
      )["usage"] as Readonly<Record<string, number>>;
      const answered = [
        usage["prompt_tokens"] ?? usage["input_tokens"] ?? 0,
        0,
        0,
        usage["completion_tokens"] ?? usage["output_tokens"] ?? 0,
      ];
      addTo(metered, key, answered);
      addTo(reported, key, answered);
      const most = n === SMALL_DAY ? 9_000 : 2_000_000;
      const more = COUNTERS.map(() => Math.floor(most / 2 + random() * (most / 2)));
      const seen = more.map((count, at) => {
        const short = SHORT.find((it) => it.day === n && it.type === type && it.at === at);
        return Math.round(count * (n === SMALL_DAY ? 0.5 : (short?.keeps ?? 1)));
      });
      addTo(metered, key, more);
      addTo(reported, key, seen);
      for (const [at, counter] of COUNTERS.entries()) {
        const isLate = n === CORRECTED_DAY && type === "compat" && counter === "output";
        const adjustment = { type, day, counter, add: isLate ? Math.round((seen[at] ?? 0) * 0.9) : seen[at] };
        adjustments.push(isLate ? { ...adjustment, whole: seen[at] } : adjustment);
      }
    }
    if (n === CORRECTED_DAY + 4) {
      for (const one of adjustments as { add: number; whole?: number }[])
        if (one.whole !== undefined) one.add = one.whole;
    }
    const errors = random() < 0.3 ? [{ status: random() < 0.5 ? 429 : 503, retry_after: 0 }] : [];
    await post("/sim/reports", { adjust: adjustments, errors });
    if (random() < 0.6) interruption = { pages: Math.floor(random() * 4), end: random() < 0.5 ? "killed" : "deposed" };
    now += DAY;
    await post("/sim/reports", { clock: new Date(now).toISOString() });
    await roundsAreDone();
    for (const id of ["n1", "n2", "n3"]) if (!nodes.has(id)) open(id);
  }
  interruption = undefined;
  now += 2 * 60_000;
  await Promise.all(killed);

  /** The last mature day: its end is two days ago. */
  const last = Math.floor((now - START) / DAY) - 3;
  const expected: object[] = [];
  for (let n = last; n >= -7; n -= 1) {
    for (const { provider } of PROVIDERS) {
      for (const [at, name] of CLASSES.entries()) {
        const m = metered.get(`${provider} ${dayText(n)}`)?.[at] ?? 0;
        const r = reported.get(`${provider} ${dayText(n)}`)?.[at] ?? 0;
        const ratio = m === r ? 0 : Math.abs(m - r) / Math.max(m, r);
        const breach = ratio > 0.02 && Math.abs(m - r) >= 10_000 ? 1 : 0;
        expected.push({
          ...{ day: dayText(n), provider, class: name, metered: m, reported: r, delta: m - r, ratio, breach },
          direction: m > r ? "over" : m < r ? "under" : "equal",
          hard: breach === 1 && m > r ? 1 : 0,
        });
      }
    }
  }
  const breaching = (expected as { day: string; provider: string; class: string; breach: number }[]).flatMap((it) =>
    it.breach === 1 ? `${it.day} ${it.provider} ${it.class}` : [],
  );
  const alerts = [...breaching, `${dayText(CORRECTED_DAY)} one output`].sort();
  const reportedNow = () => received.map((it) => `${it.day} ${it.provider} ${it.class}`).sort();
  const end = performance.now() + 20_000;
  while (reportedNow().length < alerts.length && performance.now() < end)
    await new Promise((done) => setTimeout(done, 5));

  for (const [id, { ledger }] of nodes) {
    const rows = reconciledRows(ledger)
      .reconcile_verdicts.list()
      .map(({ judged_at: _, ...row }) => row);
    assert.deepEqual(rows, expected, id);
    const [one] = reconciledRows(ledger).reconcile.list();
    assert.deepEqual([one?.judged_to, one?.error, one?.days], [dayText(last), null, last + 8]);
    assert.equal(one?.unmeasured_streams, last + 8);
  }
  assert.deepEqual(reportedNow(), alerts, "each breach is reported once");
  assert.equal(
    breaching.length,
    4,
    "3 % and what is more breach; 1.9 %, what is small, and nothing on both sides do not",
  );
  assert.ok(!JSON.stringify([...cluster.view.scan("")]).includes("canary"), "no admin key is in the state");
  await Promise.all([...nodes.values()].map((node) => node.close()));
});
