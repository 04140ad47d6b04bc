/** CPU time of a governed request, with keys in random order, beside the bare proxy in the same rounds. */

import type { LoadJob } from "../child/load.ts";
import type { Piece } from "../parts/children.ts";
import { CONFIG_MODEL } from "../parts/configuration.ts";
import { cpuMicros } from "../parts/process-usage.ts";
import { load, waitForRest } from "../rounds.ts";
import type { Stage } from "../stage.ts";
import { median } from "../statistics.ts";
import type { StateNode } from "./node.ts";

export interface RequestCost {
  readonly cpuUs: number;
  readonly ratio: number;
}

const CONNECTIONS = 32;
const ROUNDS = 5;
const REQUESTS = 2_000;
const WARM_UP = 6_000;

export async function requestCost(
  stage: Stage,
  node: StateNode,
  bare: Piece,
  credentials: string,
): Promise<RequestCost> {
  const shape = { kind: "unary", model: CONFIG_MODEL, credentials } as const;
  const job = (port: number, requests: number): LoadJob => ({ port, shape, connections: CONNECTIONS, requests });
  for (const { port } of [bare, node]) await load(stage.ask, job(port, WARM_UP));
  const slice = async ({ pid, port }: Pick<Piece, "pid" | "port">): Promise<number> => {
    const before = cpuMicros(pid);
    await load(stage.ask, job(port, REQUESTS));
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
