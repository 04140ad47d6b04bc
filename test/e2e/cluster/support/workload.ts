/**
 * Clients that write and read registers and race for claims on all nodes at once during faults, and record the results.
 *
 * A register has one history, which must be linearizable; a claim is a register that is set once. Times come from the
 * clock of this process. A register is retired after as many operations, or unknown outcomes, as can be checked in
 * reasonable time.
 */
import { setTimeout as pause } from "node:timers/promises";
import { type Call, createHistory, type History } from "../../../sim/history.ts";
import type { TestCluster, TestNode } from "./cluster.ts";
import type { Contents, Outcome } from "./node-client.ts";
import type { Random } from "./random.ts";

export interface Tally {
  readonly acknowledged: number;
  readonly failed: number;
  readonly unknown: number;
  readonly reads: number;
  /** Number of failures by code. */
  readonly codes: ReadonlyMap<string, number>;
}

export interface Workload {
  /** Number of acknowledged writes and claims. */
  acknowledged(): number;
  readonly tally: Tally;
  /** Resolves when no operation is running. */
  stop(): Promise<void>;
  /** Records what a node answers after `stop`. */
  readFinal(node: TestNode): Promise<void>;
  /** Errors in the recorded results; call it last. */
  problems(): readonly string[];
  readonly registers: readonly string[];
}

interface WorkloadOptions {
  readonly cluster: TestCluster;
  readonly random: Random;
  /** Prefix that makes the names of this run unique. */
  readonly name: string;
  readonly clients?: number;
}

const CLIENTS = 5;
/** Several clients operate on a register; above this number the check takes long. */
const MAX_OPERATIONS = 120;
const MAX_UNKNOWN = 8;
const OPERATION_MS = 1_000;
const FINAL_MS = 20_000;
/** Pause between the operations of a client. */
const PACE_MS = 8;
const MAX_STEPS = 3_000_000;
/** Clients racing for one claim. */
const RACERS = 4;

export function startWorkload({ cluster, random, name, clients = CLIENTS }: WorkloadOptions): Workload {
  const history: History = createHistory();
  const registers: string[] = [];
  const claims: string[] = [];
  const codes = new Map<string, number>();
  const counts = { acknowledged: 0, failed: 0, unknown: 0, reads: 0 };
  let lastValue = 0;
  let isStopping = false;

  /** Histories are keyed by number: registers are even, claims odd. */
  const keyOf = (kind: "register" | "claim", index: number): number => 2 * index + (kind === "claim" ? 1 : 0);

  const nextValue = (): number => {
    lastValue += 1;
    return lastValue;
  };

  const currentRegister = (): number => {
    const index = registers.length - 1;
    const { called, unknown } = history.sizeOf(keyOf("register", index));
    if (index >= 0 && called < MAX_OPERATIONS && unknown < MAX_UNKNOWN) return index;
    return registers.push(`${name}-r${registers.length}`) - 1;
  };

  const currentClaim = (): number => {
    const index = claims.length - 1;
    if (index >= 0 && history.sizeOf(keyOf("claim", index)).called < RACERS) return index;
    return claims.push(`${name}-c${claims.length}`) - 1;
  };

  const note = <Value>(outcome: Outcome<Value>): void => {
    if (outcome.kind === "done") return;
    counts[outcome.kind] += 1;
    codes.set(outcome.code, (codes.get(outcome.code) ?? 0) + 1);
  };

  const end = <Value>(call: Call, outcome: Outcome<Value>, output: (value: Value) => number): void => {
    note(outcome);
    if (outcome.kind === "done") call.returned(performance.now(), output(outcome.value));
    else if (outcome.kind === "failed") call.failed();
    else call.unknown();
  };

  const write = async ({ nodeClient }: TestNode): Promise<void> => {
    const index = currentRegister();
    const value = nextValue();
    const call = history.call(keyOf("register", index), { kind: "write", value }, performance.now());
    const outcome = await nodeClient.write(registers[index]!, value, OPERATION_MS);
    end(call, outcome, () => 1);
    if (outcome.kind === "done") counts.acknowledged += 1;
  };

  const read = async ({ nodeClient }: TestNode): Promise<void> => {
    const index = currentRegister();
    const call = history.call(keyOf("register", index), { kind: "read" }, performance.now());
    const outcome = await nodeClient.registers(OPERATION_MS);
    end(call, outcome, (contents) => contents.get(registers[index]!) ?? 0);
    counts.reads += 1;
  };

  const claim = async ({ nodeClient }: TestNode): Promise<void> => {
    const index = currentClaim();
    const value = nextValue();
    const call = history.call(keyOf("claim", index), { kind: "swap", expected: 0, value }, performance.now());
    const outcome = await nodeClient.claim(claims[index]!, value, OPERATION_MS);
    end(call, outcome, (isWon) => (isWon ? 1 : 0));
    if (outcome.kind === "done" && outcome.value) counts.acknowledged += 1;
  };

  const runClient = async (): Promise<void> => {
    while (!isStopping) {
      // A paused node blocks its client, so it is asked only now and then.
      const isPatient = random.below(8) === 0;
      const running = cluster.nodes.filter(({ isRunning, isPaused }) => isRunning && (isPatient || !isPaused));
      const node = running[random.below(running.length)];
      if (node !== undefined) {
        const draw = random.below(10);
        await (draw < 5 ? write(node) : draw < 9 ? read(node) : claim(node));
      }
      await pause(PACE_MS);
    }
  };
  const running = Array.from({ length: clients }, runClient);

  return {
    registers,
    acknowledged: () => counts.acknowledged,
    get tally() {
      return { ...counts, codes };
    },
    async stop() {
      isStopping = true;
      await Promise.all(running);
    },
    async readFinal({ id, nodeClient }) {
      const calledAt = performance.now();
      const [values, owners] = await Promise.all([nodeClient.registers(FINAL_MS), nodeClient.claims(FINAL_MS)]);
      if (values.kind !== "done") throw new Error(`${id} answers no linearizable read: ${values.message}`);
      if (owners.kind !== "done") throw new Error(`${id} answers no linearizable read: ${owners.message}`);
      const answeredAt = performance.now();
      const record = (kind: "register" | "claim", names: readonly string[], contents: Contents): void => {
        for (const [index, each] of names.entries()) {
          const call = history.call(keyOf(kind, index), { kind: "read" }, calledAt);
          call.returned(answeredAt, contents.get(each) ?? 0);
        }
      };
      record("register", registers, values.value);
      record("claim", claims, owners.value);
    },
    problems() {
      return history.check(MAX_STEPS).flatMap(({ key, verdict, size }) => {
        const of = key % 2 === 0 ? registers[key / 2] : claims[(key - 1) / 2];
        if (verdict.kind === "linearizable") return [];
        return [
          `the history of ${of} (${size} operations) is ${verdict.kind === "violated" ? "not linearizable" : "undecided"}`,
        ];
      });
    },
  };
}
