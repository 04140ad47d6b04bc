/**
 * Days of traffic through three real nodes, some of which are killed, including leaders during a round, against both
 * simulated reports. Every verdict is also computed here, line by line, and the ledger has the simulator's counts:
 * exactly, except that a killed node may lack what it had not reported. Source: design decisions, section 14.
 *
 * Runs a few days; `RECONCILE_DAYS=30 node test/run.mjs test/e2e/reconcile/month.test.ts` runs a month.
 */
import assert from "node:assert/strict";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createRandom } from "../cluster/support/random.ts";
import { createNodes, type TestNode } from "../config/support/nodes.ts";
import type { Gateway } from "../support/gateway.ts";
import { simulated } from "../support/simulated.ts";
import { atEnd, eventually, within } from "../support/wait.ts";
import { timeIsAdopted } from "./support/adopted-time.ts";
import {
  breachesIn,
  CLASSES,
  type Class,
  DAY,
  daysOf,
  dayText,
  isMature,
  type Judged,
  judge,
  type Knobs,
  type Line,
  less,
  NOTHING,
  plus,
  type Rules,
  type Sums,
  sumsOf,
  type Type,
} from "./support/month-model.ts";

const DAYS = Number(process.env["RECONCILE_DAYS"] ?? 5);
const IS_MONTH = DAYS > 20;
const SEED = Number(process.env["RECONCILE_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const HOUR = DAY / 24;
/** A past date, since certificates between nodes are valid for a year from their creation by the true clock. */
const START = Math.floor(Date.now() / DAY) * DAY - (DAYS + 2) * DAY;
const ADMIN = "sk-admin-canary-month";
const PROVIDERS = [
  { provider: "one", type: "compat" },
  { provider: "two", type: "messages" },
] as const;
const IDS = ["n1", "n2", "n3"] as const;
const RULES: Rules = {
  lagMs: (IS_MONTH ? 2 : 1) * DAY,
  lookbackMs: (IS_MONTH ? 7 : 3) * DAY,
  ratio: 0.02,
  floor: 20,
};
/** Elections, starts and rounds on a busy machine. */
const LIMIT_MS = 60_000;

/** Settings of the reports for the day with this index. */
function knobsAt(n: number): Knobs {
  const of = (day: number) => dayText(START + day * DAY);
  const late = { type: "compat", day: of(1), counter: "output", factor: n < 4 ? 0.4 : 1 } as const;
  const isEdge = IS_MONTH && n >= 14 && n < 17;
  return {
    delay_hours: IS_MONTH && n % 5 === 0 ? 30 : 20,
    // The provider's days begin later than ours, for a while.
    edge_hours: isEdge ? 2 : 0,
    lacking:
      IS_MONTH && n >= 20 && n < 23
        ? ["input_uncached_tokens", "input_cache_write_tokens"]
        : ["input_text_tokens", "num_model_requests"],
    adjust: [
      // Usage that is lost, reported twice, slightly short, and corrected after the verdict.
      { type: "compat", day: of(0), counter: "input", factor: 0.97 },
      { type: "messages", day: of(1), counter: "output", factor: 2 },
      { type: "messages", day: of(1), counter: "input", factor: 0.981 },
      late,
      { type: "messages", day: of(9), counter: "written", factor: 0 },
      { type: "compat", day: of(11), counter: "input", factor: 0.9 },
    ],
  };
}

interface Round {
  readonly now: number;
  readonly knobs: Knobs;
}

test(`reconciliation stays exact over ${DAYS} days of kills and wrong reports (RECONCILE_SEED=${SEED})`, {
  timeout: IS_MONTH ? 1_800_000 : 110_000,
}, async (t) => {
  const random = createRandom(SEED);
  const folder = await mkdtemp(join(tmpdir(), "gateway-month-"));
  atEnd(t, () => rm(folder, { recursive: true, force: true }));
  const clockPath = join(folder, "clock");
  const simulator = await simulated(t, { adminKey: ADMIN });
  const turn = async (settings: object): Promise<void> => {
    const answer = await fetch(`${simulator.url}/sim/reports`, { method: "POST", body: JSON.stringify(settings) });
    assert.equal(answer.status, 200, await answer.text());
  };
  const lines = async (): Promise<readonly Line[]> => {
    const answer = await fetch(`${simulator.url}/sim/reports`);
    return ((await answer.json()) as { readonly lines: readonly Line[] }).lines;
  };
  let shift = 0;
  const now = (): number => Date.now() + shift;
  /** Resolves when all processes have this time and the reports have these settings. */
  const goTo = async (ms: number, settings: Partial<Knobs> & object): Promise<void> => {
    shift = ms - Date.now();
    await turn({ ...settings, clock: new Date(ms).toISOString() });
    await writeFile(`${clockPath}.new`, String(shift));
    await rename(`${clockPath}.new`, clockPath);
  };
  await goTo(START + 12 * HOUR, knobsAt(0));

  const clock = new URL(`./support/driven-clock.mjs?file=${encodeURIComponent(clockPath)}`, import.meta.url);
  const env = { NODE_OPTIONS: `--import=${clock}`, GATEWAY_USAGE_REPORT: "300ms" };
  const audited = { admin_key: ADMIN, base_url: simulator.url };
  const nodes = await createNodes(t, {
    ids: IDS,
    deployment: {
      providers: [
        { name: "one", dialect: "compat", base_url: `${simulator.url}/v1`, api_key: "k1", models: ["sim-*"] },
        { name: "two", dialect: "messages", base_url: simulator.url, api_key: "k2", models: ["say-*"] },
      ],
      reconcile: {
        interval: "1s",
        maturity_lag: `${RULES.lagMs / HOUR}h`,
        lookback: `${RULES.lookbackMs / HOUR}h`,
        drift_floor: RULES.floor,
        providers: PROVIDERS.map((it) => ({ ...audited, ...it })),
      },
    },
  });
  const running = new Map<string, Gateway>();
  const start = async (node: TestNode): Promise<void> => void running.set(node.id, await node.start(env));
  await Promise.all(nodes.map(start));
  const nodeOf = (id: string): TestNode => nodes.find((it) => it.id === id) ?? assert.fail(id);
  const alive = (): readonly TestNode[] => nodes.filter(({ id }) => running.has(id));
  const kill = async (id: string): Promise<void> => {
    const { program } = nodeOf(id);
    program.signal("SIGKILL");
    running.delete(id);
    await within(`the end of ${id}`, program.ended, LIMIT_MS);
  };
  const leader = (): Promise<string> =>
    eventually(
      "a leader that is alive",
      async () => {
        const [node] = alive();
        const status = await node?.client.call("get_status").catch(() => undefined);
        return status?.leader != null && running.has(status.leader) ? status.leader : undefined;
      },
      LIMIT_MS,
    );

  /** Requests one answer of some length through a node. Returns false if there was none. */
  const say = async (id: string, type: Type, at: number): Promise<boolean> => {
    const text = "word ".repeat(60 + random.below(120));
    const isStreamed = at % 3 === 1;
    const messages = [{ role: "user", content: text }];
    // A system prompt that is cached from the second time on.
    const system = [
      { type: "text", text: `rules of ${id} ${"x ".repeat(150)}${at % 2}`, cache_control: { type: "ephemeral" } },
    ];
    const [path, body] =
      type === "compat"
        ? ["/v1/chat/completions", { model: `sim-${id}`, messages, stream: isStreamed }]
        : ["/v1/messages", { model: `say-${id}`, messages, max_tokens: 200, system, stream: isStreamed }];
    try {
      const answer = await fetch(`${running.get(id)?.url}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", "anthropic-version": "2023-06-01" },
        body: JSON.stringify(body),
      });
      await answer.text();
      assert.equal(answer.status, 200);
      return true;
    } catch (error) {
      if (running.has(id) && !killing.has(id)) throw error;
      return false;
    }
  };
  const killing = new Set<string>();

  /** Returns the ledger of a node as the finance team reads it. */
  const ledger = async ({ client }: TestNode): Promise<ReadonlyMap<string, Sums>> => {
    const sql = `SELECT substr(hour, 1, 10), provider, model, ${CLASSES.map((it) => `sum(${it}_tokens)`).join(", ")} FROM usage GROUP BY 1, 2, 3`;
    const { rows } = await client.call("run_query", { body: { sql } });
    return new Map(
      rows.map(([day, provider, model, ...sums]) => [
        `${day} ${provider} ${model}`,
        Object.fromEntries(CLASSES.map((name, at) => [name, Number(sums[at])])) as Record<Class, number>,
      ]),
    );
  };
  const providerOf = (type: Type): string => PROVIDERS.find((it) => it.type === type)?.provider ?? "";
  const keyOf = ({ at, dialect, model }: Line): string => `${dayText(at)} ${providerOf(dialect)} ${model}`;
  const counted = (all: readonly Line[]): ReadonlyMap<string, Sums> => {
    const keys = new Set(all.filter(({ isBatch }) => !isBatch).map(keyOf));
    return new Map(
      Array.from(keys, (key) => [key, sumsOf(all.filter((line) => !line.isBatch && keyOf(line) === key))]),
    );
  };
  /** For killed nodes: the maximum of their own model's usage that was not reported. */
  const unreported = new Map<string, Sums>();

  /** Whether no sum is too high, and only those of killed nodes too low, by at most what they had not reported. */
  const isWhole = async (node: TestNode): Promise<boolean> => {
    const [have, want] = [await ledger(node), counted(await lines())];
    for (const [key, sums] of have) {
      const over = less(sums, want.get(key) ?? NOTHING);
      // The answer ended before the simulator recorded it.
      if (CLASSES.some((name) => over[name] > 0)) return false;
    }
    return [...want].every(([key, sums]) => {
      const [lack, may] = [less(sums, have.get(key) ?? NOTHING), unreported.get(key) ?? NOTHING];
      return CLASSES.every((name) => lack[name] <= may[name]);
    });
  };
  const settled = (what: string): Promise<true> =>
    eventually(
      what,
      async () => {
        const [first] = alive();
        return first !== undefined && (await isWhole(first)) && true;
      },
      LIMIT_MS,
    ).catch(async (cause: unknown) => {
      const [first] = alive();
      const have = first === undefined ? undefined : Object.fromEntries(await ledger(first));
      const text = { have, want: Object.fromEntries(counted(await lines())), may: Object.fromEntries(unreported) };
      throw new Error(`${what}: ${JSON.stringify(text)}`, { cause });
    });

  const rounds: Round[] = [];
  const roundsAreHad = async (settings: Knobs, since: number): Promise<void> => {
    await eventually(
      "a round of both",
      async () => {
        const [node] = alive();
        const items = (await node?.client.call("list_reconcile", {}).catch(() => undefined))?.items ?? [];
        return items.length === 2 && items.every(({ fetched_at: at }) => at !== null && Date.parse(at) >= since);
      },
      LIMIT_MS,
    );
    rounds.push({ now: since, knobs: settings });
  };
  /** Resolves when the log's time is that of the nodes. */
  const logFollows = (): Promise<true> =>
    eventually(
      "the log's time",
      async () => {
        const params = { kind: "model", name: "no-such-model" } as const;
        const [node] = alive();
        const put = await node?.client
          .call("put_suspension", { params, body: { reason: "the time" } })
          .catch(() => undefined);
        return put !== undefined && Math.abs(Date.parse(put.created_at) - now()) < 10_000 && true;
      },
      LIMIT_MS,
    );
  const reportRequests = async (): Promise<number> => {
    const answer = await fetch(`${simulator.url}/sim/counts`);
    const { byRoute } = (await answer.json()) as { readonly byRoute: Readonly<Record<string, number>> };
    return byRoute["usage_report"] ?? 0;
  };

  await roundsAreHad(knobsAt(0), START + 12 * HOUR);
  let kills = 0;
  for (let n = 0; n < DAYS; n += 1) {
    const settings = knobsAt(n);
    const [morning] = rounds.slice(-1);
    assert.ok(morning);
    await logFollows();
    await timeIsAdopted(alive(), LIMIT_MS);
    for (const id of running.keys()) {
      for (const { type } of PROVIDERS) for (let at = 0; at < 3; at += 1) assert.ok(await say(id, type, at));
    }
    await turn({ batches: [{ type: "compat", day: dayText(now()), counter: "output", tokens: 5_000 }] });

    const mayKill = n > 0 && (IS_MONTH ? random.below(10) < 4 : n === 1);
    const isMidRound = IS_MONTH ? random.below(10) < 3 : n === 3;
    let down: string | undefined;
    if (mayKill) {
      const victim = random.below(2) === 0 ? await leader() : random.pick([...running.keys()]);
      await settled(`what ${victim} has used is reported`);
      const before = counted(await lines());
      killing.add(victim);
      const last = PROVIDERS.flatMap(({ type }) => [0, 1, 2].map((at) => say(victim, type, at)));
      const rest = [...running.keys()].filter((id) => id !== victim).map((id) => say(id, "compat", 0));
      await last[random.below(last.length)];
      await kill(victim);
      await Promise.all([...last, ...rest]);
      killing.delete(victim);
      kills += 1;
      const after = counted(await lines());
      for (const [key, sums] of after) {
        if (!key.endsWith(`-${victim}`)) continue;
        const may = less(sums, before.get(key) ?? NOTHING);
        unreported.set(key, plus(unreported.get(key) ?? NOTHING, may));
      }
      down = victim;
      if (random.below(3) > 0 || !IS_MONTH) {
        await start(nodeOf(victim));
        down = undefined;
        for (const { type } of PROVIDERS) assert.ok(await say(victim, type, 0));
      }
    }
    await settled(`day ${n} is in the ledger`);

    // Even afternoon hours, except for a few answers of the first hour, on which days may disagree.
    const next = START + (n + 1) * DAY + (random.below(4) === 0 ? 1.5 : 11 + random.below(12)) * HOUR;
    const requestCount = await reportRequests();
    const errors = Array.from({ length: random.below(3) }, () => ({ status: random.pick([429, 503]), retry_after: 0 }));
    const held = isMidRound && down === undefined ? [{ status: 503, retry_after: 2 }] : [];
    const failures = { errors: [...held, ...errors], expired: random.below(2), page_days: 1 + random.below(9) };
    await goTo(next, { ...knobsAt(n + 1), ...failures });
    if (held.length > 0) {
      const before = await leader();
      await eventually("a round under way", async () => (await reportRequests()) > requestCount && true, LIMIT_MS);
      await kill(before);
      kills += 1;
      await leader();
      await start(nodeOf(before));
    }
    await roundsAreHad(knobsAt(n + 1), next);
    if (down !== undefined) await start(nodeOf(down));
    void settings;
  }
  t.diagnostic(`${kills} kills`);
  assert.ok(kills >= 2, "some node was killed");

  const have = await ledger(nodes[0] ?? assert.fail());
  const all = await lines();
  const meteredOn = (from: number, provider: string): Sums =>
    [...have].reduce(
      (sum, [key, sums]) => (key.startsWith(`${dayText(from)} ${provider} `) ? plus(sum, sums) : sum),
      NOTHING,
    );
  const verdicts = new Map<string, { provider: string; from: number; judged: readonly Judged[] }>();
  const reportedIds = new Set<string>();
  const { client } = nodes[0] ?? assert.fail();
  const { items: found } = await client.call("list_reconcile_verdicts", {});
  const isFound = (day: string, provider: string, judged: readonly Judged[]): boolean =>
    judged.every((one) =>
      found.some(
        (it) => it.day === day && it.provider === provider && it.class === one.class && it.reported === one.reported,
      ),
    );
  for (const [n, { now: at, knobs }] of rounds.entries()) {
    for (const from of daysOf(at, RULES)) {
      if (!isMature(from, at, RULES)) continue;
      for (const { provider, type } of PROVIDERS) {
        const day = dayText(from);
        const input = { lines: all, now: at, rules: RULES };
        const judged = judge(from, type, meteredOn(from, provider), { ...input, knobs });
        // The last round of a day may run between the change of the reports and that of the clock.
        const turned = judge(from, type, meteredOn(from, provider), { ...input, knobs: rounds[n + 1]?.knobs ?? knobs });
        const last = isFound(day, provider, judged) ? judged : isFound(day, provider, turned) ? turned : judged;
        verdicts.set(`${day} ${provider}`, { provider, from, judged: last });
        for (const it of [...judged, ...last]) if (it.breach) reportedIds.add(`${day} ${provider} ${it.class}`);
      }
    }
  }
  const expected = [...verdicts.values()]
    .toSorted((a, b) => b.from - a.from || (a.provider < b.provider ? -1 : 1))
    .flatMap(({ provider, from, judged }) =>
      judged.map(({ breach, metered: m, reported: r, ...it }) => ({
        ...{ day: dayText(from), provider, ...it, metered: m, reported: r, delta: m - r, breach: breach ? 1 : 0 },
        direction: m > r ? "over" : m < r ? "under" : "equal",
        hard: breach && m > r ? 1 : 0,
      })),
    );
  for (const node of nodes) {
    const rows = await eventually(`the verdicts of ${node.id}`, async () => {
      const { items } = await node.client.call("list_reconcile_verdicts", {});
      return items.length === expected.length ? items : undefined;
    });
    assert.deepEqual(
      rows.map(({ judged_at: _, ...row }) => row),
      expected,
      node.id,
    );
  }
  const { breach: firstBreach } =
    expected.find((it) => it.day === dayText(START) && it.class === "input" && it.provider === "one") ?? {};
  assert.equal(firstBreach, 1, "3 % of a class on a day is a breach");
  const recorded = (): readonly string[] => nodes.flatMap((node) => breachesIn(node.output()));
  await eventually("every breach is on record", () => new Set(recorded()).size >= reportedIds.size, LIMIT_MS);
  assert.deepEqual([...new Set(recorded())].sort(), [...reportedIds].sort());
  assert.ok(
    recorded().length <= reportedIds.size + kills,
    "reported twice only where a node died between the record and its note",
  );
  t.diagnostic(`${expected.length} verdicts, ${reportedIds.size} breaches, ${all.length} answers`);
  for (const node of nodes) assert.ok(!node.output().includes("canary"), "no administrator's key is shown");
});
