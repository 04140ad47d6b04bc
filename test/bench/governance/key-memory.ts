/**
 * Memory of a key: a gateway started with many keys compared with one with a single key, after full collections, before
 * a key has been used and after each has. The heap is that of the main thread with the buffers of its objects; resident
 * memory is that of all threads, including the log's.
 */

import { CONFIG_MODEL } from "../parts/configuration.ts";
import { startProbed } from "../parts/gateway.ts";
import { residentBytes } from "../parts/process-usage.ts";
import type { Judged } from "../report.ts";
import { load } from "../rounds.ts";
import { prepare, type Stage } from "../stage.ts";
import { checkGoverned } from "./check.ts";

const CLIENTS = 32;
/** Memory for the first requests does not belong to the keys. */
const MIN_REQUESTS = 10_000;
const MIB = 2 ** 20;

interface Weight {
  readonly unusedBytes: number;
  readonly usedBytes: number;
  readonly residentBytes: number;
}

export async function measureKeyMemory(stage: Stage): Promise<readonly Judged[]> {
  const many = stage.manyKeys;
  const { rssBefore, rssAfter, mintedPerSecond } = await stage.keyring(stage.options.gateway, "governed", many);
  const one = await weigh(stage, 1);
  const all = await weigh(stage, many);
  const minting = `${((rssAfter - rssBefore) / many).toFixed(0)} B in the process that took them`;
  const row = (what: string, of: (weight: Weight) => number, about = ""): Judged => ({
    name: `key-memory: ${what}, per key`,
    value: `${((of(all) - of(one)) / (many - 1)).toFixed(0)} B`,
    target: "",
    verdict: "",
    detail: `${mib(of(one))} MiB with 1 key, ${mib(of(all))} with ${many}${about}`,
  });
  return [
    row("heap, keys unused", (weight) => weight.unusedBytes),
    row("heap, each key used", (weight) => weight.usedBytes),
    row("resident memory", (weight) => weight.residentBytes, `; ${minting}, ${mintedPerSecond.toFixed(0)} a second`),
  ];
}

async function weigh(stage: Stage, keys: number): Promise<Weight> {
  const prepared = await prepare(stage, "governed", { kind: "unary", model: CONFIG_MODEL }, keys);
  const { gateway, shape } = prepared;
  const server = await startProbed(gateway, stage.pieces.probe);
  const heap = async (): Promise<number> => {
    // The second collection frees what the first one finalizes.
    await server.alive();
    const { heapBytes, externalBytes } = await server.alive();
    return heapBytes + externalBytes;
  };
  try {
    await checkGoverned(prepared, server);
    const unusedBytes = await heap();
    const requests = Math.max(MIN_REQUESTS, keys);
    await load(stage.ask, { port: server.port, shape, connections: CLIENTS, requests });
    return { unusedBytes, usedBytes: await heap(), residentBytes: residentBytes(server.pid) };
  } finally {
    await server.stop();
  }
}

const mib = (bytes: number): string => (bytes / MIB).toFixed(1);
