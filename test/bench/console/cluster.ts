/**
 * The console with three real nodes that serve 14 requests a second: its idle cost, the latency of a key, its startup
 * time, and the time of a view behind a line of 2 kB/s.
 *
 * `GATEWAY_BENCH_AGAINST=FOLDER`, the root of another build, opens a second console beside the first with the same
 * nodes. Both are measured over the same time, so that other work of the machine affects both.
 */

import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Simulator } from "../../../src/simulator/index.ts";
import { openTerminal, type TestTerminal } from "../../console/support/terminal.ts";
import { type Governed, simProvider, startGoverned } from "../../e2e/governance/support/governed.ts";
import type { Owner } from "../../e2e/support/wait.ts";
import type { Figure } from "../parts/figures.ts";
import { cpuMicros, residentBytes } from "../parts/process-usage.ts";
import type { Scenario } from "../parts/scenario.ts";
import { percentile } from "../statistics.ts";
import { LAUNCHER, onStage, quit, type StageOptions, toView } from "./stage.ts";

const REQUESTS_PER_SECOND = 14;
const PROVIDERS = 4;
/** Callers with requests, each with its own budget, and callers without. */
const CALLERS = 60;
const OTHER_KEYS = 2_000;
/** Sent before any measurement, so that the lists are as long as after an hour. */
const EARLIER_REQUESTS = 6_000;
const AT_ONCE = 24;
const IDLE_MS = 60_000;
const VIEW_MS = 20_000;
const STARTS = 5;
const PRESSES = 200;
/** Until charts and counts have data. */
const WARM_MS = 15_000;
/** Time after opening a view until its lists are loaded. */
const SETTLE_MS = 4_000;
const MIN_PAUSE_MS = 40;
const MAX_PAUSE_MS = 160;
/** Ten bits per byte. */
const SLOW_BAUD = 20_000;
const SLOW_REST_MS = 6_000;

/** A view, and a text that only its content has. */
const VIEWS: readonly (readonly [name: string, shows: RegExp])[] = [
  ["providers", /sim-0 /],
  ["keys", /caller-00/],
  ["budgets", /team-day/],
  ["requests", /sim-\d/],
  ["guardrails", /cards +deny/],
  ["cluster", /n3 /],
  ["pulse", /REQUESTS/],
];

interface Contender {
  readonly name: string;
  readonly launcher: string;
}

function contenders(): readonly Contender[] {
  const against = process.env["GATEWAY_BENCH_AGAINST"];
  const own: Contender = { name: "", launcher: LAUNCHER };
  return against === undefined ? [own] : [{ name: "against: ", launcher: resolve(against, "bin/gateway") }, own];
}

export const CLUSTER: Scenario<StageOptions> = {
  name: "cluster",
  run: (input) =>
    onStage(async (owner) => {
      const share = input.isQuick ? 0.1 : 1;
      const governed = await startNodes(owner);
      await startTraffic(owner, governed, share);
      await pause(WARM_MS * Math.max(share, 0.3));
      const figures: Figure[] = [];
      figures.push(...(await starts(owner, governed, input, Math.ceil(STARTS * share))));
      figures.push(...(await idle(owner, governed, input, share)));
      figures.push(...(await slow(owner, governed, input)));
      return figures;
    }),
};

const deployment = (simulator: Simulator) => ({
  providers: Array.from({ length: PROVIDERS }, (_, at) => ({
    ...simProvider(`sim-${at}`, simulator),
    models: [`sim-model-${at}`],
  })),
  budgets: [
    { name: "team-day", limit: 50_000_000, window: "day" },
    { name: "team-shared", limit: 50_000_000, window: "day", shared: true },
  ],
  profiles: [{ name: "team", budget: "team-day" }],
  guardrails: {
    detectors: [{ name: "finder", type: "pii", prefilter: "pure" }],
    rules: [{ name: "cards", when: '"pii/CREDIT_CARD" in labels', action: "deny" }],
  },
});

const startNodes = (owner: Owner): Promise<Governed> => startGoverned(owner, { ids: ["n1", "n2", "n3"], deployment });

/** Sends requests to all nodes in turn, each of another caller; one in twenty names an unknown model. */
async function startTraffic(owner: Owner, { nodes, node }: Governed, share: number): Promise<void> {
  const keys: string[] = [];
  for (let at = 0; at < CALLERS; at += 1) {
    const name = `caller-${String(at).padStart(2, "0")}`;
    const { key } = await node.client.call("create_key", { body: { name, profile: "team" } });
    keys.push(key ?? "");
  }
  await manyTimes(OTHER_KEYS * share, (at) => node.client.call("create_key", { body: { name: `unused-${at}` } }));
  const send = async (turn: number): Promise<unknown> => {
    const { gateway } = nodes[turn % nodes.length] ?? { gateway: undefined };
    const model = turn % 20 === 19 ? "unknown-model" : `sim-model-${turn % PROVIDERS}`;
    const answer = await fetch(`${gateway?.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${keys[turn % CALLERS]}` },
      body: JSON.stringify({ model, max_tokens: 40, messages: [{ role: "user", content: `Question ${turn}` }] }),
    });
    return answer.text();
  };
  await manyTimes(EARLIER_REQUESTS * share, send);
  let sent = 0;
  const timer = setInterval(() => void send(sent++).catch(() => undefined), 1_000 / REQUESTS_PER_SECOND);
  owner.after(() => clearInterval(timer));
}

async function manyTimes(count: number, work: (at: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const one = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}

interface Size {
  readonly columns: number;
  readonly rows: number;
}

const USUAL: Size = { columns: 120, rows: 35 };
const SMALL: Size = { columns: 80, rows: 24 };

function openAt(
  owner: Owner,
  { node }: Governed,
  { launcher }: Contender,
  { profileFolder }: StageOptions,
  { columns, rows }: Size,
  more: { readonly baud?: number } = {},
): TestTerminal {
  const profile = profileFolder === undefined ? [] : ["--cpu-prof", "--cpu-prof-dir", profileFolder];
  const args = [...profile, launcher, "console", "-socket", join(node.dir, "admin.sock")];
  return openTerminal(owner, { args, columns, rows, env: { HOME: tmpdir() }, ...more });
}

async function starts(
  owner: Owner,
  governed: Governed,
  input: StageOptions,
  count: number,
): Promise<readonly Figure[]> {
  const all = contenders().map((of) => ({
    of,
    firstMs: [] as number[],
    liveMs: [] as number[],
    cpuMs: [] as number[],
  }));
  for (let at = 0; at < count; at += 1) {
    for (const { of, firstMs, liveMs, cpuMs } of all) {
      const begunAt = performance.now();
      const terminal = openAt(owner, governed, of, { ...input, profileFolder: undefined }, USUAL);
      await terminal.until("gateway");
      firstMs.push(performance.now() - begunAt);
      cpuMs.push(cpuMicros(terminal.pid) / 1e3);
      await terminal.until(`${PROVIDERS} ok`);
      liveMs.push(performance.now() - begunAt);
      await quit(terminal);
    }
  }
  return all.flatMap(({ of, firstMs, liveMs, cpuMs }) => [
    figure(of, "start to first frame", percentile(firstMs, 0.5), "ms", 400, `median of ${count} starts`),
    figure(of, "processor time until then", percentile(cpuMs, 0.5), "ms", undefined),
    figure(of, "start to live", percentile(liveMs, 0.5), "ms", undefined),
  ]);
}

interface Opened {
  readonly of: Contender;
  readonly terminal: TestTerminal;
}

async function idle(owner: Owner, governed: Governed, input: StageOptions, share: number): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  const opened = contenders().map((of) => ({ of, terminal: openAt(owner, governed, of, input, USUAL) }));
  for (const { terminal } of opened) await terminal.until(`${PROVIDERS} ok`);
  await pause(SETTLE_MS);
  figures.push(...(await rest(opened, "overview, 120x35", IDLE_MS * share, 3)));
  for (const { terminal } of opened) terminal.resize(SMALL.columns, SMALL.rows);
  await pause(SETTLE_MS);
  figures.push(...(await rest(opened, "overview, 80x24", IDLE_MS * share, 3)));
  for (const { terminal } of opened) terminal.resize(USUAL.columns, USUAL.rows);
  for (const [name, shows] of VIEWS) {
    for (const { terminal } of opened) await toView(terminal, name, shows);
    await pause(SETTLE_MS);
    figures.push(...(await rest(opened, name, VIEW_MS * share, 2)));
  }
  for (const { terminal } of opened) await toView(terminal, "keys", /caller-00/);
  await pause(SETTLE_MS);
  const took = opened.map(() => [] as number[]);
  for (let at = 0; at < PRESSES * share; at += 1) {
    for (const [which, { terminal }] of opened.entries()) {
      await pause(MIN_PAUSE_MS + ((at * 37) % (MAX_PAUSE_MS - MIN_PAUSE_MS)));
      took[which]?.push(await keyToFrame(terminal, at));
    }
  }
  for (const [which, { of, terminal }] of opened.entries()) {
    const own = took[which] ?? [];
    figures.push(
      figure(of, "key to frame, p50", percentile(own, 0.5), "ms", 25, `${own.length} keys`),
      figure(of, "key to frame, p95", percentile(own, 0.95), "ms", 50),
      figure(of, "resident", residentBytes(terminal.pid) / 1e6, "MB", 150, "after all views"),
    );
    await quit(terminal);
  }
  return figures;
}

/** Moves the cursor of the keys view down five rows and up again. */
async function keyToFrame(terminal: TestTerminal, at: number): Promise<number> {
  const isDown = at % 10 < 5;
  const cursor = isDown ? (at % 5) + 1 : 4 - (at % 5);
  const sought = `>caller-0${cursor}`;
  const begunAt = performance.now();
  terminal.type(isDown ? "j" : "k");
  await terminal.until((screen) => screen.includes(sought), sought);
  return performance.now() - begunAt;
}

/** Cost of the idle consoles, all over the same time. */
async function rest(opened: readonly Opened[], name: string, ms: number, aim: number): Promise<readonly Figure[]> {
  const before = opened.map(({ terminal }) => ({ micros: cpuMicros(terminal.pid), bytes: terminal.bytes.total }));
  const from = performance.now();
  await pause(ms);
  const tookMs = performance.now() - from;
  return opened.flatMap(({ of, terminal }, at) => {
    const { micros = 0, bytes = 0 } = before[at] ?? {};
    const percent = (cpuMicros(terminal.pid) - micros) / (tookMs * 10);
    const kilobytes = (terminal.bytes.total - bytes) / tookMs;
    return [
      figure(of, `core, ${name}`, percent, "%", aim, `over ${Math.round(tookMs / 1e3)} s`),
      figure(of, `written, ${name}`, kilobytes, "kB/s", 0.3),
    ];
  });
}

/** Time to open each view behind a slow line, from the key to its content. */
async function slow(owner: Owner, governed: Governed, input: StageOptions): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const of of contenders()) {
    const terminal = openAt(owner, governed, of, input, USUAL, { baud: SLOW_BAUD });
    await terminal.until(`${PROVIDERS} ok`);
    const took: { readonly name: string; readonly ms: number; readonly bytes: number }[] = [];
    for (const [name, shows] of VIEWS) {
      await pause(SLOW_REST_MS);
      const [begunAt, bytes] = [performance.now(), terminal.bytes.total];
      terminal.type(`:${name}\r`);
      await terminal.until((screen) => isViewOf(screen, name) && shows.test(bodyOf(screen)), name);
      took.push({ name, ms: performance.now() - begunAt, bytes: terminal.bytes.total - bytes });
    }
    const slowest = took.reduce((a, b) => (b.ms > a.ms ? b : a));
    const detail = took.map(({ name, ms, bytes }) => `${name} ${(ms / 1e3).toFixed(1)} s ${bytes} B`).join(", ");
    figures.push(figure(of, "a view over 2 kB/s, slowest", slowest.ms / 1e3, "s", 3, detail));
    await quit(terminal);
  }
  return figures;
}

/** The title of the view is in the upper border. */
const isViewOf = (screen: string, name: string): boolean =>
  (screen.split("\n")[2] ?? "").toLowerCase().includes(name.slice(0, 5));

const bodyOf = (screen: string): string => screen.split("\n").slice(3, -3).join("\n");

function figure(
  { name: of }: Contender,
  name: string,
  value: number,
  unit: string,
  atMost: number | undefined,
  detail = "",
): Figure {
  return { name: of + name, value, unit, aim: atMost === undefined ? undefined : { atMost }, detail };
}
