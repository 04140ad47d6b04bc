/**
 * Rounds of faults: in each, clients work while one fault comes and goes, then everything is checked. A round passes
 * when every acknowledged write is on every node, every history is linearizable, all nodes are equal, and all are
 * voting members again.
 */
import assert from "node:assert/strict";
import type { Owner } from "../../support/wait.ts";
import { createCluster, type TestCluster, type TestNode } from "./cluster.ts";
import { FAULTS, type Fault, type Round } from "./faults.ts";
import type { Contents } from "./node-client.ts";
import { createRandom, type Random } from "./random.ts";
import { mountTmpfs, type Tmpfs } from "./tmpfs.ts";
import { until } from "./until.ts";
import { startWorkload, type Tally, type Workload } from "./workload.ts";

export interface RoundReport {
  readonly round: number;
  readonly fault: string;
  /** `undefined` if this machine cannot do it. */
  readonly done: string | undefined;
  readonly tally: Tally;
  readonly leader: string;
  readonly seconds: number;
}

interface RoundsOptions {
  readonly seed: number;
  readonly rounds: number;
  /** Names of faults; all if omitted. Each comes once before any repeats. */
  readonly faults?: readonly string[];
  onRound(report: RoundReport): void;
}

/** A node accepts no writes with less than 256 MiB free. */
const DISK_BYTES = 320 << 20;
const PROGRESS_MS = 60_000;

/** Rejects at the first failed round, with the output of the nodes in the message. */
export async function playRounds(owner: Owner, options: RoundsOptions): Promise<void> {
  const { seed, rounds, onRound } = options;
  const random = createRandom(seed);
  const names = options.faults ?? Object.keys(FAULTS);
  const ids = ["n1", "n2", "n3"];
  const disks = names.includes("disk-full") ? disksFor(owner, ids) : new Map<string, Tmpfs>();
  const dataDirs = new Map([...disks].map(([id, { path }]) => [id, path]));
  const cluster = await createCluster(owner, { ids, dataDirs });
  await cluster.startAll();
  await cluster.leader();
  let deck: string[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    if (deck.length === 0) deck = random.shuffled(names);
    const name = deck.pop()!;
    try {
      onRound(await playRound(round, name, cluster, random, disks));
    } catch (error) {
      const outputs = (await Promise.all(cluster.nodes.map(describe))).join("\n");
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`round ${round} (${name}, seed ${seed}) did not pass: ${reason}\n${outputs}`, { cause: error });
    }
  }
}

/** Creates a disk for one of the nodes; none if mounting is not permitted. */
function disksFor(owner: Owner, ids: readonly string[]): Map<string, Tmpfs> {
  const [id = ""] = ids;
  const disk = mountTmpfs(owner, DISK_BYTES);
  return new Map(disk === undefined ? [] : [[id, disk]]);
}

async function playRound(
  round: number,
  name: string,
  cluster: TestCluster,
  random: Random,
  disks: ReadonlyMap<string, Tmpfs>,
): Promise<RoundReport> {
  const startedAt = performance.now();
  const fault: Fault | undefined = FAULTS[name];
  assert.ok(fault !== undefined, `there is no fault ${name}`);
  const workload = startWorkload({ cluster, random, name: `round${round}` });
  const faultContext: Round = { cluster, random, disks, progress: (count = 20) => progress(workload, count) };
  let done: string | undefined;
  try {
    await faultContext.progress();
    done = await fault(faultContext);
    await cluster.leader();
    await faultContext.progress();
  } finally {
    await workload.stop();
  }
  const leader = await lookAtAll(cluster, workload);
  await erase(cluster, workload, leader);
  const seconds = (performance.now() - startedAt) / 1_000;
  return { round, fault: name, done, tally: workload.tally, leader, seconds };
}

async function progress(workload: Workload, count: number): Promise<void> {
  const wanted = workload.acknowledged() + count;
  try {
    await until(`${count} more acknowledged writes`, () => workload.acknowledged() >= wanted, PROGRESS_MS);
  } catch (error) {
    const { codes, ...counts } = workload.tally;
    const seen = JSON.stringify({ ...counts, codes: Object.fromEntries(codes) });
    throw new Error(`${error instanceof Error ? error.message : String(error)}; clients saw ${seen}`, { cause: error });
  }
}

/** Resolves with the leader. */
async function lookAtAll(cluster: TestCluster, workload: Workload): Promise<string> {
  const leader = await cluster.leader();
  for (const node of cluster.nodes) await workload.readFinal(node);
  await cluster.caughtUp();
  // A node checks its members once a second.
  for (const { id, nodeClient } of cluster.nodes) {
    await until(`${id} sees all as voting members`, async () => {
      const { members } = await nodeClient.status();
      return members.length === cluster.ids.length && members.every((member) => member.voter);
    });
  }
  const [first, ...rest] = await Promise.all(
    cluster.nodes.map(async ({ id, nodeClient }) => ({
      id,
      registers: sorted(await nodeClient.localRegisters()),
      claims: sorted(await nodeClient.localClaims()),
    })),
  );
  for (const other of rest) {
    assert.deepEqual(
      { ...other, id: "" },
      { ...first, id: "" },
      `what ${other.id} holds is not what ${first?.id} holds`,
    );
  }
  assert.deepEqual(workload.problems(), []);
  return leader;
}

const sorted = (contents: Contents): readonly (readonly [string, number])[] => [...contents].sort();

/** Removes checked data, so that the state stays small. */
async function erase(cluster: TestCluster, { registers }: Workload, leader: string): Promise<void> {
  const { nodeClient } = cluster.node(leader);
  await Promise.all(registers.map((name) => nodeClient.erase(name, 10_000)));
}

async function describe({ id, nodeClient, output }: TestNode): Promise<string> {
  const state = await nodeClient.report().catch(String);
  return `--- ${id} ${state}\n${lastLines(output())}`;
}

const MAX_LINES = 40;

function lastLines(output: string): string {
  return output.split("\n").slice(-MAX_LINES).join("\n");
}
