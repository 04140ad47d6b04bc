/**
 * Simulated clients. Each has one operation at a time: it sends it to a node and repeats it under the same sequence
 * while the outcome is unknown, as a forwarding node does (cluster reference, 2.8). Their observations form the
 * history.
 */

import type { ReadOutcome, WriteOutcome } from "../../src/server/cluster/consensus/driver-types.ts";
import type { Change } from "./command.ts";
import type { History } from "./history.ts";
import { must } from "./violation.ts";
import { leaderOf, runningNodes, type SimNode, type World, wallClock } from "./world.ts";

export interface Clients {
  start(): void;
  /** Starts this many more operations, after the storm. */
  ask(operations: number): void;
  /** Number of operations without an outcome. */
  readonly open: number;
}

interface Client {
  id: number;
  seq: number;
  /** The node that it asks first. */
  node: string | undefined;
}

/** Longer histories are not checked as a whole, because the search is exponential in the number of unknown outcomes. */
const MAX_OPERATIONS_OF_KEY = 120;
const MAX_UNKNOWN_OF_KEY = 8;
const MAX_ATTEMPTS = 8;

export function createClients(world: World, history: History): Clients {
  const { plan, random, checks } = world;
  const keys: number[] = [];
  let lastKey = 0;
  let lastClient = 0;
  let lastAttempt = 0;
  let lastValue = 0;
  let open = 0;
  let quota = 0;
  const idle: Client[] = [];
  const answerLimitMs = plan.raft.electionTicks * plan.tickMs * 3;

  const keyToUse = (): number => {
    const slot = random.below(plan.load.keys);
    const key = keys[slot];
    if (key !== undefined) {
      const { called, unknown } = history.sizeOf(key);
      if (called < MAX_OPERATIONS_OF_KEY && unknown < MAX_UNKNOWN_OF_KEY) return key;
    }
    lastKey += 1;
    keys[slot] = lastKey;
    return lastKey;
  };

  const wireDelay = (): number => 0.2 + random.real() * Math.min(plan.net.delayMs, 20);

  const nodeFor = (client: Client, faithful: number): SimNode | undefined => {
    const known = client.node === undefined ? undefined : world.nodes.get(client.node);
    if (known?.state === "running" && random.chance(faithful)) return known;
    const running = runningNodes(world);
    return running.length === 0 ? undefined : random.pick(running);
  };

  const next = (client: Client): void => {
    world.schedule(plan.load.thinkMs * 2 * random.real(), () => {
      if (!world.isStormy && quota === 0) {
        idle.push(client);
        return;
      }
      quota = Math.max(0, quota - 1);
      open += 1;
      const key = keyToUse();
      if (random.chance(plan.load.readShare)) read(client, key);
      else change(client, key);
    });
  };

  /** Ends one attempt at its answer or at the time limit, whichever comes first. */
  const once = <T>(limit: () => void, answered: (outcome: T) => void): ((outcome: T) => void) => {
    let isOver = false;
    world.schedule(answerLimitMs, () => {
      if (isOver) return;
      isOver = true;
      limit();
    });
    return (outcome) => {
      if (isOver || random.chance(world.isStormy ? plan.net.loss / 2 : 0)) return;
      world.schedule(wireDelay(), () => {
        if (isOver) return;
        isOver = true;
        answered(outcome);
      });
    };
  };

  const read = (client: Client, key: number): void => {
    const call = history.call(key, { kind: "read" }, world.now);
    // Stronger than the clients' observations: what any leader had committed when the read began.
    const floor = Math.max(checks.acknowledged, world.ledger.lastCommitted);
    const finish = (): void => {
      open -= 1;
      next(client);
    };
    const attempt = (left: number): void => {
      const node = nodeFor(client, 0.5);
      const retry = (): void => {
        client.node = leaderOf(world)?.id;
        if (left > 0) world.schedule(wireDelay() + 20, () => attempt(left - 1));
        else {
          call.unknown();
          finish();
        }
      };
      if (node === undefined) {
        retry();
        return;
      }
      const answer = once<{ readonly value: number; readonly applied: number } | undefined>(retry, (value) => {
        if (value === undefined) {
          retry();
          return;
        }
        checks.acknowledge(value.applied);
        call.returned(world.now, value.value);
        finish();
      });
      ask(node, () => {
        node.driver?.read((outcome: ReadOutcome) => {
          if (outcome.kind === "unknown") {
            answer(undefined);
            return;
          }
          const { appliedIndex } = node.machine;
          must(
            outcome.index >= floor,
            "fresh reads",
            () => `${node.id} reads at ${outcome.index}; ${floor} was committed before the read began`,
          );
          must(
            appliedIndex >= outcome.index,
            "fresh reads",
            () => `${node.id} says readable at ${outcome.index} and has applied ${appliedIndex}`,
          );
          answer({ value: node.machine.read(key), applied: outcome.index });
        });
      });
    };
    attempt(MAX_ATTEMPTS);
  };

  const drawChange = (): Change => {
    lastValue += 1;
    const kind = random.pick(["write", "write", "swap", "append"] as const);
    // Values are unique, so the expected one is guessed among recent writes.
    if (kind === "swap") return { kind, expected: Math.max(0, lastValue - random.between(0, 3)), value: lastValue };
    return { kind, value: lastValue };
  };

  const change = (client: Client, key: number): void => {
    const asked = drawChange();
    const call = history.call(key, asked, world.now);
    client.seq += 1;
    const { id, seq } = client;
    let isDoubtful = false;

    const giveUp = (): void => {
      if (isDoubtful) {
        call.unknown();
        // Continues as a new process of the client. What this one requested may still take effect.
        lastClient += 1;
        client.id = lastClient;
        client.seq = 0;
      } else {
        call.failed();
      }
      open -= 1;
      next(client);
    };

    const attempt = (left: number): void => {
      const node = nodeFor(client, 0.95);
      const retry = (): void => {
        if (left > 0) world.schedule(wireDelay() + 20, () => attempt(left - 1));
        else giveUp();
      };
      if (node === undefined) {
        retry();
        return;
      }
      lastAttempt += 1;
      const mark = lastAttempt;
      const answer = once<WriteOutcome>(
        () => {
          isDoubtful = true;
          client.node = leaderOf(world)?.id;
          retry();
        },
        (outcome) => {
          switch (outcome.kind) {
            case "applied":
              settle(outcome, mark, seq);
              return;
            case "not-leader":
              client.node = outcome.lead;
              retry();
              return;
            case "refused":
              retry();
              return;
            case "unknown":
              isDoubtful = true;
              client.node = undefined;
              retry();
              return;
            default:
              outcome satisfies never;
          }
        },
      );
      const fillBytes = random.chance(plan.load.largeShare) ? random.below(600) : random.below(20);
      ask(node, () => {
        const now = wallClock(world, node);
        const data = world.machines.encode({ client: id, seq, attempt: mark, key, now, change: asked }, fillBytes);
        node.driver?.propose(data, (outcome) => {
          if (outcome.kind === "refused" || outcome.kind === "not-leader") checks.refuse(mark);
          answer(outcome);
        });
      });
    };

    const settle = (outcome: WriteOutcome & { readonly kind: "applied" }, mark: number, of: number): void => {
      const { index, result } = outcome;
      must(index <= world.ledger.lastCommitted, "acknowledged is committed", () => `attempt ${mark} at ${index}`);
      const effect = checks.effects.get(`${id}/${of}`);
      must(
        effect !== undefined && effect <= index,
        "acknowledged is applied",
        () => `client ${id} seq ${of} is acknowledged at ${index}, its effect stands at ${effect}`,
      );
      must(result?.kind === "ok", "acknowledged with a result", () => `attempt ${mark} at ${index}`);
      checks.acknowledge(index);
      call.returned(world.now, Number(result.value));
      open -= 1;
      next(client);
    };

    attempt(MAX_ATTEMPTS);
  };

  const ask = (node: SimNode, run: () => void): void => world.scheduleOn(node, wireDelay(), run, true);

  return {
    start() {
      for (let at = 0; at < plan.load.clients; at += 1) {
        lastClient += 1;
        next({ id: lastClient, seq: 0, node: undefined });
      }
    },
    ask(operations) {
      quota = operations;
      for (const client of idle.splice(0)) next(client);
    },
    get open() {
      return open + quota;
    },
  };
}
