/**
 * Faults for a three-node cluster under load. A fault resolves once it is over and every node runs again with its links
 * restored; it rejects if a required detection, refusal or recovery does not happen.
 */
import assert from "node:assert/strict";
import type { TestCluster, TestNode } from "./cluster.ts";
import { DAMAGES, MAY_BE_HARMLESS } from "./damage.ts";
import { runVerb } from "./program.ts";
import type { Random } from "./random.ts";
import type { Tmpfs } from "./tmpfs.ts";
import { until } from "./until.ts";

export interface Round {
  readonly cluster: TestCluster;
  readonly random: Random;
  /** Data disks of nodes that can be filled. */
  readonly disks: ReadonlyMap<string, Tmpfs>;
  /** Resolves once clients had `count` more writes acknowledged. */
  progress(count?: number): Promise<void>;
}

/** Resolves with a short description, or `undefined` if the fault is impossible here. */
export type Fault = (round: Round) => Promise<string | undefined>;

const STORAGE_REFUSED = 11;
const NOTICED_MS = 20_000;

async function anyone({ cluster, random }: Round): Promise<TestNode> {
  return random.pick(cluster.nodes);
}

async function leader({ cluster }: Round): Promise<TestNode> {
  return cluster.node(await cluster.leader());
}

const others = ({ cluster }: Round, node: TestNode): readonly TestNode[] =>
  cluster.nodes.filter((each) => each !== node);

const idsOf = (nodes: readonly TestNode[]): readonly string[] => nodes.map(({ id }) => id);

type Choice = (round: Round) => Promise<TestNode>;

const kill =
  (choose: Choice): Fault =>
  async (round) => {
    const node = await choose(round);
    await node.kill();
    await round.progress();
    await node.start();
    return `kill -9 of ${node.id}`;
  };

const killTwo: Fault = async (round) => {
  const [one, other] = round.random.shuffled(round.cluster.nodes);
  const victims = [one!, other!];
  await Promise.all(victims.map((node) => node.kill()));
  for (const node of victims) await node.launch();
  await Promise.all(victims.map((node) => node.ready()));
  return `kill -9 of ${idsOf(victims).join(" and ")} at once`;
};

const killAll: Fault = async ({ cluster }) => {
  await Promise.all(cluster.nodes.map((node) => node.kill()));
  await cluster.startAll();
  return "kill -9 of all at once";
};

const suspend =
  (choose: Choice, isLong: boolean): Fault =>
  async (round) => {
    const node = await choose(round);
    node.pause();
    await round.cluster.leader(idsOf(others(round, node)));
    await round.progress(isLong ? 150 : 20);
    node.resume();
    return `SIGSTOP of ${node.id}`;
  };

const isolate =
  (choose: Choice, kind: "silent" | "cut"): Fault =>
  async (round) => {
    const node = await choose(round);
    for (const { id } of others(round, node)) round.cluster.links.between(node.id, id, { kind });
    await round.cluster.leader(idsOf(others(round, node)));
    await round.progress();
    round.cluster.links.heal();
    return `${node.id} ${kind === "cut" ? "cut off" : "hears nobody, and nobody it"}`;
  };

const oneWay =
  (choose: Choice, way: "out" | "in"): Fault =>
  async (round) => {
    const node = await choose(round);
    for (const { id } of others(round, node)) {
      const [from, to] = way === "out" ? [node.id, id] : [id, node.id];
      round.cluster.links.set(from, to, { kind: "silent" });
    }
    await round.progress();
    round.cluster.links.heal();
    return way === "out" ? `${node.id} hears and is not heard` : `${node.id} is heard and hears nobody`;
  };

/** The leader and one follower lose each other; the third hears both. */
const partial: Fault = async (round) => {
  const first = await leader(round);
  const other = round.random.pick(others(round, first));
  round.cluster.links.between(first.id, other.id, { kind: "silent" });
  await round.progress(40);
  round.cluster.links.heal();
  return `${first.id} and ${other.id} do not hear each other`;
};

const slow: Fault = async ({ cluster, random, progress }) => {
  const delayMs = 10 + random.below(60);
  for (const from of cluster.ids) for (const to of cluster.ids) cluster.links.set(from, to, { kind: "slow", delayMs });
  await progress();
  cluster.links.heal();
  return `${delayMs} ms on all links`;
};

const tear: Fault = async ({ cluster, progress }) => {
  for (let count = 0; count < 3; count += 1) {
    for (const from of cluster.ids) for (const to of cluster.ids) cluster.links.cutMidFrame(from, to);
    await progress(5);
  }
  cluster.links.heal();
  return "connections broken in the midst of frames";
};

const transfer: Fault = async (round) => {
  const from = await leader(round);
  const to = round.random.pick(others(round, from)).id;
  const target = await anyone(round);
  const outcome = await target.nodeClient.transfer(to);
  await round.progress();
  return `leadership from ${from.id} to ${to}, asked of ${target.id}: ${outcome.kind === "done" ? outcome.value : outcome.code}`;
};

const restart: Fault = async (round) => {
  const node = await leader(round);
  await node.stop();
  await round.progress();
  await node.start();
  return `restart of ${node.id}, which led`;
};

/** Restarts it with an empty directory, joining through the other nodes. */
export async function rejoinBlank({ cluster }: Pick<Round, "cluster">, node: TestNode): Promise<void> {
  const through = cluster.ids.filter((id) => id !== node.id);
  node.settings = { ...node.settings, begin: { kind: "join", through } };
  await node.start();
  await until(`${node.id} votes again`, async () => {
    const { members } = await node.nodeClient.status();
    return members.some(({ id, voter }) => id === node.id && voter);
  });
}

/** Resolves with whether it answers; otherwise it has ended. */
async function starts(node: TestNode): Promise<boolean> {
  await node.launch();
  return node.ready().then(
    () => true,
    () => {
      assert.equal(node.isRunning, false, `${node.id} neither answers nor ends`);
      return false;
    },
  );
}

const damaged =
  (name: string): Fault =>
  async (round) => {
    const node = await anyone(round);
    // Two kills leave tables beside the write-ahead log.
    await node.kill();
    await node.start();
    await round.progress();
    await node.kill();
    const done = await DAMAGES[name]?.(node.dataDir);
    if (done === undefined) {
      await node.start();
      return undefined;
    }
    if (MAY_BE_HARMLESS.has(name) && (await starts(node))) return `${node.id}: ${name}, in nothing that is read`;
    const { status, output } = await node.failsToStart();
    assert.equal(status, STORAGE_REFUSED, `${done}, and ${node.id} did not refuse it:\n${output}`);
    assert.ok(output.includes(node.dataDir), `the refusal does not name ${node.dataDir}:\n${output}`);
    await round.progress();
    await empty(node, round);
    await rejoinBlank(round, node);
    return `${node.id}: ${name}; refused, joined again`;
  };

const blank: Fault = async (round) => {
  const node = await anyone(round);
  await node.kill();
  await empty(node, round);
  await round.progress();
  await rejoinBlank(round, node);
  return `${node.id} came back with a blank disk`;
};

async function empty(node: TestNode, { disks }: Round): Promise<void> {
  const disk = disks.get(node.id);
  if (disk === undefined) await node.blank();
  else await disk.empty();
}

/** Fills the disk of a node while it writes; the node ends with a message, and returns when there is room. */
const diskFull: Fault = async (round) => {
  const [id] = round.random.shuffled([...round.disks.keys()]);
  if (id === undefined) return undefined;
  const node = round.cluster.node(id);
  const disk = round.disks.get(id)!;
  await disk.fill();
  await round.progress(60);
  const how = node.isRunning ? "takes no writes" : "ended";
  if (!node.isRunning) assert.match(node.output(), /full|No space left/i, `${id} does not say why it ended`);
  await disk.free();
  if (!node.isRunning) await node.start();
  return `the disk of ${id} ran full: it ${how}`;
};

/** Loses a majority permanently. The most advanced survivor is recovered, and the others return empty. */
const recover: Fault = async (round) => {
  const { cluster, random } = round;
  await Promise.all(cluster.nodes.map((node) => node.kill()));
  const known = await Promise.all(cluster.nodes.map(async (node) => ({ node, ...(await lastOf(node)) })));
  const [best] = known.toSorted((a, b) => b.term - a.term || b.index - a.index);
  const survivor = best!.node;
  await recoverOn(survivor);
  await survivor.start();
  await cluster.leader([survivor.id]);
  const lost = random.shuffled(others(round, survivor));
  const old = lost[0]!;
  await old.launch();
  await until(
    `${old.id} learns that it is from before the recovery`,
    () => old.output().includes("stale_recovery_epoch"),
    NOTICED_MS,
  );
  await old.kill();
  for (const node of lost) {
    await empty(node, round);
    await rejoinBlank({ cluster: { ...cluster, ids: [survivor.id, node.id] } }, node);
  }
  return `${survivor.id} recovered alone; ${old.id} refused with its old log; both came back blank`;
};

async function lastOf(node: TestNode): Promise<{ readonly term: number; readonly index: number }> {
  const { status, stdout, stderr } = await runVerb([
    "cluster",
    "recover",
    "-data-dir",
    node.dataDir,
    "-node-id",
    node.id,
  ]);
  assert.equal(status, 0, stderr);
  const read = (name: string): number => Number(new RegExp(`^${name} +(\\d+)$`, "m").exec(stdout)?.[1]);
  return { term: read("last term"), index: read("last index") };
}

async function recoverOn(node: TestNode): Promise<void> {
  const { status, stderr } = await runVerb([
    ...["cluster", "recover", "-data-dir", node.dataDir, "-node-id", node.id],
    ...["-keep", node.id, "-confirm"],
  ]);
  assert.equal(status, 0, stderr);
}

export const FAULTS: Readonly<Record<string, Fault>> = {
  kill: kill(anyone),
  "kill-leader": kill(leader),
  "kill-two": killTwo,
  "kill-all": killAll,
  stop: suspend(anyone, false),
  "stop-leader": suspend(leader, false),
  "stop-long": suspend(anyone, true),
  cut: isolate(anyone, "cut"),
  "cut-leader": isolate(leader, "cut"),
  silent: isolate(anyone, "silent"),
  "silent-leader": isolate(leader, "silent"),
  "one-way-out": oneWay(leader, "out"),
  "one-way-in": oneWay(leader, "in"),
  "one-way-follower": oneWay(anyone, "out"),
  partial,
  slow,
  tear,
  transfer,
  restart,
  blank,
  recover,
  "disk-full": diskFull,
  ...Object.fromEntries(Object.keys(DAMAGES).map((name) => [`damage: ${name}`, damaged(name)])),
};
