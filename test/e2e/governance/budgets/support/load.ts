/** Concurrent calls of several clients: each sends its next request when the previous one has finished. */
import assert from "node:assert/strict";
import type { Simulator } from "../../../../../src/simulator/index.ts";
import { mint } from "../../support/governed.ts";
import { type Called, type CallOptions, call } from "./calls.ts";
import type { Budgeted, Member } from "./members.ts";
import type { Plan } from "./plans.ts";

export interface Key {
  readonly name: string;
  /** Name of budget and profile. */
  readonly budget: string;
  readonly text: string;
}

export async function mintKeys(
  { members }: Budgeted,
  names: Readonly<Record<string, string>>,
): Promise<readonly Key[]> {
  const [first] = members;
  assert.ok(first);
  const keys: Key[] = [];
  for (const [name, budget] of Object.entries(names)) {
    keys.push({ name, budget, text: await mint(first.node, name, { profile: budget }) });
  }
  return keys;
}

export interface Placed {
  readonly plan: Plan;
  readonly key: Key;
  readonly member: Member;
}

/** Runs all of these in order, `clients` at a time. */
export async function callAll(
  placed: Iterable<Placed>,
  simulator: Simulator,
  clients: number,
  how: (plan: Plan, options: CallOptions) => Promise<Called> = call,
): Promise<readonly Called[]> {
  const rest = placed[Symbol.iterator]();
  const done: Called[] = [];
  const client = async (): Promise<void> => {
    for (let next = rest.next(); next.done !== true; next = rest.next()) {
      const { plan, ...options } = next.value;
      done.push(await how(plan, { ...options, simulator }));
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return done;
}

export interface Load {
  /** Finished calls. */
  readonly calls: readonly Called[];
  /** Resolves with all calls once the running ones have finished. */
  stop(): Promise<readonly Called[]>;
}

/** Calls until it is stopped. */
export function startLoad(make: () => Placed, simulator: Simulator, clients: number): Load {
  const calls: Called[] = [];
  let isStopped = false;
  const client = async (): Promise<void> => {
    while (!isStopped) {
      const { plan, ...options } = make();
      const called = await call(plan, { ...options, simulator });
      calls.push(called);
    }
  };
  const clientsDone = Promise.all(Array.from({ length: clients }, client));
  return {
    calls,
    async stop() {
      isStopped = true;
      await clientsDone;
      return calls;
    },
  };
}

/** Seed and rounds from `GATEWAY_BUDGET_SEED` and `GATEWAY_BUDGET_ROUNDS`, for long runs and to repeat one. */
export const SEED = Number(process.env["GATEWAY_BUDGET_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
export const ROUNDS = Number(process.env["GATEWAY_BUDGET_ROUNDS"] ?? 1);

/** Resets the counters of the simulator, and its record of failed users. */
export async function resetCounts({ url }: Simulator): Promise<void> {
  const { status } = await fetch(`${url}/sim/reset`, { method: "POST" });
  assert.equal(status, 200);
}
