/**
 * One run: a cluster of production cores and drivers in virtual time, with faults by a plan drawn from the seed, then a
 * calm in which it must come to rest. The same seed and options give the same run, event by event.
 */

import { createAdmin } from "./admin.ts";
import { createChecks } from "./checks.ts";
import { createClients } from "./clients.ts";
import { holdUp, startFaults } from "./faults.ts";
import { createHistory } from "./history.ts";
import { createLedger } from "./ledger.ts";
import { SMALL } from "./machine.ts";
import { createNet } from "./net.ts";
import { createNode, echo, inNode, restartNode } from "./node.ts";
import { drawPlan, type Plan } from "./plan.ts";
import { PRODUCTION } from "./production-machine.ts";
import { createQueue } from "./queue.ts";
import { createRandom } from "./random.ts";
import { comeToRest } from "./rest.ts";
import { createTrace } from "./trace.ts";
import { must, Violation } from "./violation.ts";
import type { SimNode, World } from "./world.ts";

export interface RunOptions {
  readonly seed: number;
  /** Faults continue for at least this many events; the calm after them adds more. */
  readonly events: number;
  readonly mode: "faults" | "damage";
  readonly onTrace?: (line: string) => void;
}

export interface RunResult {
  readonly seed: number;
  readonly events: number;
  readonly digest: string;
  /** Counts of client operations, committed entries and leaders, which show how much the run covered. */
  readonly operations: number;
  readonly committed: number;
  readonly leaders: number;
  /** Keys whose history could not be decided within the limit. */
  readonly undecided: number;
  /**
   * Lost its quorum for good in a way that no algorithm could prevent: the run was correct, and need not come to rest.
   */
  readonly isStranded: boolean;
  readonly failure:
    | { readonly invariant: string; readonly message: string; readonly trace: readonly string[] }
    | undefined;
}

interface SimEvent {
  readonly node: SimNode | undefined;
  /** The process life that the event belongs to; `undefined` for any. */
  readonly life: number | undefined;
  readonly run: () => void;
}

/** Limit of search steps over all keys of a run, about a second at most. */
const MAX_CHECK_STEPS = 200_000;
/** Virtual time after which a storm ends even when little happens, such as when all nodes are down. */
const MAX_STORM_MS = 3_600_000;

export function runSeed(options: RunOptions): RunResult {
  const { seed, mode } = options;
  const random = createRandom(seed);
  const plan = drawPlan(random, mode);
  const machines = plan.machine === "production" ? PRODUCTION : SMALL;
  const trace = createTrace(options.onTrace);
  const history = createHistory();
  const queue = createQueue<SimEvent>();
  const nodes = new Map<string, SimNode>();
  const voters = Array.from({ length: plan.voters }, (_, at) => `n${at + 1}`);
  const first = { voters, votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
  const ledger = createLedger(first);
  const checks = createChecks(ledger);
  const storages = new Map<number, ReadonlyMap<string, number>>();
  let newestChange: World["newestChange"];
  let now = 0;
  let events = 0;

  const world: World = {
    plan,
    random,
    trace,
    net: createNet(plan.net, random),
    ledger,
    checks,
    nodes,
    get now() {
      return now;
    },
    isStormy: true,
    machines,
    storagesAt: (index) => storages.get(index),
    get newestChange() {
      return newestChange;
    },
    onLeader(node) {
      holdUp(world, admin, node);
      echo(world, node);
    },
    onMembers(node, index, applied) {
      if (index > (newestChange?.index ?? 0)) newestChange = { index, by: node, life: node.life };
      storages.set(index, applied.storages);
      admin.onMembers(index, applied);
    },
    schedule: (delayMs, run) => queue.push(now + delayMs, { node: undefined, life: undefined, run }),
    scheduleOn: (node, delayMs, run, anyLife = false) =>
      queue.push(now + delayMs, { node, life: anyLife ? undefined : node.life, run }),
  };
  const admin = createAdmin(world);
  const clients = createClients(world, history);

  /** Runs one event; false when there is none. */
  const step = (): boolean => {
    const at = queue.nextAt();
    const event = queue.pop();
    if (at === undefined || event === undefined) return false;
    now = at;
    const { node, life, run } = event;
    if (node === undefined) {
      events += 1;
      run();
      return true;
    }
    if (node.state !== "running" || (life !== undefined && life !== node.life)) return true;
    if (node.pausedUntil > now) {
      queue.push(node.pausedUntil, event);
      return true;
    }
    events += 1;
    inNode(world, node, run);
    return true;
  };

  const begin = (): void => {
    trace.note(0, "all", "plan", planText(plan));
    for (const id of voters) {
      const meta = { index: 1, term: 1, configuration: first };
      const snapshot = { meta, link: ledger.origin, machine: machines.create(1), storages: new Map<string, number>() };
      nodes.set(id, createNode(world, { id, storage: 0, behind: ledger.origin, snapshot }));
    }
    for (const node of nodes.values()) restartNode(world, node);
    clients.start();
    startFaults(world, admin);
  };

  const finish = (failure: RunResult["failure"], undecided = 0, isStranded = false): RunResult => ({
    seed,
    events,
    digest: trace.digest,
    operations: history.operations,
    committed: ledger.lastCommitted,
    leaders: checks.leaderChanges,
    undecided,
    isStranded,
    failure,
  });

  try {
    begin();
    while (events < options.events && now < MAX_STORM_MS && step());
    const { isStranded } = comeToRest(world, { admin, clients, step });
    const verdicts = history.check(MAX_CHECK_STEPS);
    for (const { key, verdict, size } of verdicts) {
      must(verdict.kind !== "violated", "linearizability", () => `the ${size} operations of key ${key}`);
    }
    const undecided = verdicts.filter(({ verdict }) => verdict.kind === "undecided").length;
    return finish(undefined, undecided, isStranded);
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    return finish({ invariant: error.invariant, message: error.message, trace: trace.lines() });
  }
}

function planText({ voters, machine, net, disk, faults, raft, snapshot, remains }: Plan): string {
  const families = faults.map(({ family, weight }) => `${family}*${weight}`).join(" ");
  return `${voters} voters, ${machine} machine; ${JSON.stringify({ net, disk, raft, snapshot, remains })}; ${families}`;
}
