/** CPU time of a governed request, with keys in random order, beside the bare proxy in the same rounds. */

import type { LoadJob } from "../child/load.ts";
import type { Piece } from "../parts/children.ts";
import { CONFIG_MODEL } from "../parts/configuration.ts";
import { cpuMicros } from "../parts/process-usage.ts";
import { load, waitForRest } from "../rounds.ts";
import type { Stage } from "../stage.ts";
import { median } from "../statistics.ts";
import type { StateNode } from "./node.ts";

interface RequestCost {
  readonly cpuUs: number;
  readonly ratio: number;
}

const CONNECTIONS = 32;
const ROUNDS = 5;
const REQUESTS = 4_000;
/** Requests before the measurement: with fewer, a node that has just compiled a large document still optimizes its code in it. */
const WARM_UP = 30_000;
/** Lines shown of a failed server's output. */
const LAST_LINES = 5;

export async function requestCost(
  stage: Stage,
  node: StateNode,
  bare: Piece,
  credentials: string,
): Promise<RequestCost> {
  const shape = { kind: "unary", model: CONFIG_MODEL, credentials } as const;
  const job = (port: number, requests: number): LoadJob => ({ port, shape, connections: CONNECTIONS, requests });
  const asked = async (server: Piece, requests: number): Promise<void> => {
    try {
      await load(stage.ask, job(server.port, requests));
    } catch (error) {
      const name = server === bare ? "the bare proxy" : "the gateway";
      const state = server.hasEnded() ? "has ended" : "is still there";
      const lines = server.output().split("\n").slice(-LAST_LINES).join("\n");
      throw new Error(`${name} ${state}; the end of its output:\n${lines}`, { cause: error });
    }
  };
  for (const server of [bare, node]) await asked(server, WARM_UP);
  const slice = async (server: Piece): Promise<number> => {
    const { pid } = server;
    const before = cpuMicros(pid);
    await asked(server, REQUESTS);
    await waitForRest(pid);
    return (cpuMicros(pid) - before) / REQUESTS;
  };
  const own: number[] = [];
  const ratios: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const bareUs = await slice(bare);
    const nodeUs = await slice(node);
    own.push(nodeUs);
    ratios.push(nodeUs / bareUs);
  }
  return { cpuUs: median(own), ratio: median(ratios) };
}
