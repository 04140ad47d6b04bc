/** The figures of one size: of a node with many keys, and of one with a large deployment document. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { requestText } from "../admin/plane.ts";
import type { Piece } from "../parts/children.ts";
import { PROFILE } from "../parts/governed-deployment.ts";
import { cpuMicros, residentBytes } from "../parts/process-usage.ts";
import { load, waitForRest } from "../rounds.ts";
import type { Stage } from "../stage.ts";
import { median } from "../statistics.ts";
import { type KeyArchive, keyName, makeKeyArchive } from "./archive.ts";
import { type DeploymentSize, deploymentOf, SMALL } from "./deployment.ts";
import {
  callWell,
  restoreArchive,
  type StateNode,
  saveArchive,
  startStateNode,
  waitForKeys,
  writeDeployment,
} from "./node.ts";
import type { Growth } from "./points.ts";
import { requestCost } from "./request-cost.ts";

export interface Figure {
  readonly figure: string;
  readonly unit: string;
  readonly growth: Growth;
  readonly value: number;
}

export interface Bench {
  readonly stage: Stage;
  readonly bare: Piece;
  /** Archive of a node without keys, from which the others are made. */
  readonly base: string;
}

const READS = 5;
const MINTED = 1_000;
/** Minted before the measurement, so that code is compiled. */
const WARM_UP_MINTED = 600;
const MINTERS = 64;
const RELOADS = 3;
const PAGE = 50;
const MIB = 2 ** 20;

const figure = (name: string, unit: string, growth: Growth, value: number): Figure => ({
  figure: name,
  unit,
  growth,
  value,
});

/** The active document after the reloads. */
const lastEdition = (stage: Stage, size: DeploymentSize): object => deploymentOf(size, stage.upstreamPort, RELOADS);

/** CPU time of the process for `work` and its remaining tasks, in milliseconds. */
async function cpuMs({ pid }: Pick<StateNode, "pid">, work: () => Promise<unknown>): Promise<number> {
  const before = cpuMicros(pid);
  await work();
  await waitForRest(pid);
  return (cpuMicros(pid) - before) / 1e3;
}

/** CPU milliseconds of a read; the first is not counted. */
async function readMs(node: StateNode, read: () => Promise<unknown>): Promise<number> {
  await read();
  const ms = await cpuMs(node, async () => {
    for (let at = 0; at < READS; at++) await read();
  });
  return ms / READS;
}

/** Cost of a query; nothing where the node refuses it because it needs too much memory. */
async function queryFigures(name: string, node: StateNode, sql: string): Promise<readonly Figure[]> {
  try {
    return [figure(name, "ms", "linear", await readMs(node, () => callWell(node, "POST", "/query", { sql })))];
  } catch (error) {
    if (error instanceof Error && error.message.includes('"reason":"memory"')) return [];
    throw error;
  }
}

export async function measureKeys(bench: Bench, keys: number): Promise<readonly Figure[]> {
  const { stage } = bench;
  const { folder, probe } = stage.pieces;
  const home = join(folder, `keys-${keys}`);
  await mkdir(home);
  const archive = await makeKeyArchive(bench.base, keys, folder);
  const deployment = deploymentOf(SMALL, stage.upstreamPort, 0);
  const file = stage.options.gateway;
  const figures: Figure[] = [];
  let node = await startStateNode({ file, probe, home, deployment });
  try {
    const restoring = await cpuMs(node, () => restoreArchive(node, archive.path, keys));
    figures.push(figure("restore, CPU", "ms", "linear", restoring));
    figures.push(...(await servingFigures(bench, node, archive)));
    const pageAt = `/keys?limit=${PAGE}&after=${keyName(keys >> 1)}`;
    const page = `select name, profile from keys order by name limit ${PAGE} offset ${keys >> 1}`;
    figures.push(
      figure(
        "one key by name, CPU",
        "ms",
        "flat",
        await readMs(node, () => callWell(node, "GET", `/keys/${keyName(7)}`)),
      ),
      figure("page of 50 keys, CPU", "ms", "flat", await readMs(node, () => callWell(node, "GET", pageAt))),
      figure("list of all keys, CPU", "ms", "linear", await readMs(node, () => callWell(node, "GET", "/keys"))),
      ...(await queryFigures("query of a page, CPU", node, page)),
      ...(await queryFigures("query of a count, CPU", node, "select count(*) from keys")),
      ...(await mintingFigures(stage, node)),
      figure(
        "snapshot saved, CPU",
        "ms",
        "linear",
        await cpuMs(node, () => saveArchive(node, `${folder}/saved.tar.gz`)),
      ),
    );
    await node.stop();
    node = await startStateNode({ file, probe, home, deployment: lastEdition(stage, SMALL) });
    figures.push(...(await startFigures(node)), ...(await joinFigures(bench, node, keys)));
  } finally {
    await node.stop();
  }
  return figures;
}

async function startFigures(node: StateNode): Promise<readonly Figure[]> {
  await waitForRest(node.pid);
  return [
    figure("start, CPU", "ms", "linear", cpuMicros(node.pid) / 1e3),
    figure("start until ready, time", "ms", "linear", node.readyMs),
  ];
}

/** An empty node joins; the member's work for it counts too. */
async function joinFigures({ stage }: Bench, node: StateNode, keys: number): Promise<readonly Figure[]> {
  const home = join(stage.pieces.folder, `joined-${keys}`);
  await mkdir(home);
  const before = cpuMicros(node.pid);
  const startedAt = performance.now();
  const joined = await startStateNode({
    file: stage.options.gateway,
    probe: stage.pieces.probe,
    home,
    deployment: lastEdition(stage, SMALL),
    through: node.forwardAddress,
  });
  try {
    await waitForKeys(joined, keys);
    const ms = performance.now() - startedAt;
    for (const { pid } of [joined, node]) await waitForRest(pid);
    const cpu = (cpuMicros(joined.pid) + cpuMicros(node.pid) - before) / 1e3;
    return [figure("join, CPU of both", "ms", "linear", cpu), figure("join, time", "ms", "linear", ms)];
  } finally {
    await joined.stop();
  }
}

/** Measurements of every serving node: a request, memory, a reload. */
async function servingFigures(
  { stage, bare }: Bench,
  node: StateNode,
  { credentials }: Pick<KeyArchive, "credentials">,
  size: DeploymentSize = SMALL,
): Promise<readonly Figure[]> {
  const reloads: number[] = [];
  for (let edition = 1; edition <= RELOADS; edition++) {
    await writeDeployment(node.home, deploymentOf(size, stage.upstreamPort, edition));
    reloads.push(await cpuMs(node, () => callWell(node, "POST", "/reload", {})));
  }
  // The restored archive had the small document; the reloaded one is measured.
  const { cpuUs, ratio } = await requestCost(stage, node, bare, credentials);
  return [
    figure("CPU of a request", "us", "flat", cpuUs),
    figure("CPU of a request over bare", "times", "flat", ratio),
    figure("reload, CPU", "ms", "linear", median(reloads)),
    figure("heap of the main thread", "MiB", "linear", (await node.heapBytes()) / MIB),
    figure("resident memory", "MiB", "linear", residentBytes(node.pid) / MIB),
  ];
}

async function mintingFigures(stage: Stage, node: StateNode): Promise<readonly Figure[]> {
  const { socketPath } = node;
  const mint = async (group: string, count: number): Promise<number> => {
    const texts = Array.from({ length: count }, (_, at) =>
      requestText("POST", "/keys", { body: { name: `${group}-${at}`, profile: PROFILE, metadata: { env: "prod" } } }),
    );
    const shape = { kind: "texts", texts } as const;
    return (await load(stage.ask, { port: 0, socketPath, shape, connections: MINTERS, requests: count })).perSecond;
  };
  await mint("warm-up", WARM_UP_MINTED);
  let perSecond = Number.NaN;
  const ms = await cpuMs(node, async () => {
    perSecond = await mint("minted", MINTED);
  });
  return [
    figure("minting a key, CPU", "us", "flat", (ms * 1e3) / MINTED),
    figure("minting, with 64 clients", "keys/s", "flat", perSecond),
  ];
}

/** `table` is the list in which the many objects can be read. */
export async function measureDeployment(bench: Bench, size: DeploymentSize, table: string): Promise<readonly Figure[]> {
  const { stage } = bench;
  const { folder, probe } = stage.pieces;
  const home = join(folder, `document-${Object.values(size).join("-")}`);
  await mkdir(home);
  const archive = await makeKeyArchive(bench.base, 1, home);
  const deployment = deploymentOf(size, stage.upstreamPort, 0);
  const file = stage.options.gateway;
  let node = await startStateNode({ file, probe, home, deployment });
  try {
    // The archive has the small document: the first reload applies the one on disk again.
    await restoreArchive(node, archive.path, 1);
    const serving = await servingFigures(bench, node, archive, size);
    const page = `select * from ${table} limit ${PAGE}`;
    const figures = [
      ...serving,
      figure(`list of ${table}, CPU`, "ms", "linear", await readMs(node, () => callWell(node, "GET", `/${table}`))),
      ...(await queryFigures("query of a page, CPU", node, page)),
    ];
    await node.stop();
    node = await startStateNode({ file, probe, home, deployment: lastEdition(stage, size) });
    return [...figures, ...(await startFigures(node))];
  } finally {
    await node.stop();
  }
}
