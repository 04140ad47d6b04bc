/**
 * Makes a blank data directory part of a cluster, and re-admits a member that lost its cluster. Source: specification document 1
 * (cluster membership).
 */

import type { Log } from "../../../base/index.ts";
import type { Configuration } from "../../core/raft/index.ts";
import { createState, type Member, type State, unknownMember } from "../../core/state/index.ts";
import { type Network, type NetworkReply, NO_BODY } from "../network.ts";
import type { Storage } from "../storage/index.ts";
import type { ClusterOptions } from "../types.ts";
import { type JoinAnswer, type JoinOutcome, join } from "./joining.ts";
import type { JoinRequest } from "./membership.ts";

/** Maximum number of redirects. A follower names its leader, which may have changed by then. */
const MAX_HOPS = 4;

const BOOTSTRAP_POSITION = { index: 1, term: 1, now: 0 } as const;

/**
 * Writes the first configuration, with the same bytes on every node that has the same peers. A crash between the two writes
 * leaves a blank log, and the next start repeats both.
 */
export async function bootstrap(storage: Storage, members: readonly Member[]): Promise<State> {
  const ids = members.map(({ id }) => id).sort();
  const configuration: Configuration = {
    voters: ids,
    votersOutgoing: [],
    learners: [],
    learnersNext: [],
    autoLeave: false,
  };
  const state = createState();
  const context = new TextEncoder().encode(JSON.stringify({ added: members }));
  const entry = { index: BOOTSTRAP_POSITION.index, term: BOOTSTRAP_POSITION.term, data: new Uint8Array(0) };
  const { mutations } = state.applyConfiguration(entry, context, ids);
  await storage.state().write(mutations, state.applied, state.digest);
  await storage.log.bootstrap(configuration);
  return state;
}

/** Returns the members that a node's own file names: itself alone, or its peers. */
export function firstMembers(self: Member, start: ClusterOptions["start"]): readonly Member[] {
  if (start.kind !== "peers") return [self];
  // Only addresses are written, so that every bootstrapping node writes the same rows.
  return start.peers.map(({ id, raftAddr, forwardAddr }) => ({
    ...unknownMember(id),
    raft_addr: raftAddr,
    forward_addr: forwardAddr,
  }));
}

export interface JoinRequestPorts {
  readonly network: Network;
  readonly request: JoinRequest;
  readonly log: Log;
  readonly signal: AbortSignal;
  now(): number;
}

/** Joins a cluster with a blank directory and a join list. */
export async function joinCluster(
  addresses: readonly string[],
  bootstrapAfterMs: number | undefined,
  ports: JoinRequestPorts,
): Promise<JoinOutcome> {
  const reported = new Map<string, string>();
  return await join(addresses, bootstrapAfterMs, {
    ask: (address, timeoutMs) => requestJoin(address, "join", timeoutMs, ports),
    pause: (ms) => pause(ms, ports.signal),
    now: ports.now,
    onAnswer(address, answer) {
      if (answer.kind === "admitted") {
        ports.log.info("admitted to the cluster", { through: address });
        return;
      }
      // The addresses are asked in turn, several times a second. An answer is logged when it differs from the last of its address.
      if (reported.get(address) !== answer.reason) ports.log.info("not admitted yet", { address, why: answer.reason });
      reported.set(address, answer.reason);
    },
  });
}

/** Asks one address, and the leaders that it names. Rejects only with the signal's reason. */
export async function requestJoin(
  address: string,
  kind: "join" | "rejoin",
  timeoutMs: number,
  ports: JoinRequestPorts,
): Promise<JoinAnswer> {
  const until = ports.now() + timeoutMs;
  let target = address;
  for (let hop = 0; hop < MAX_HOPS; hop += 1) {
    ports.signal.throwIfAborted();
    const remainingMs = Math.max(1, until - ports.now());
    const asked = { kind, header: { ...ports.request }, body: NO_BODY } as const;
    const reply = await ports.network.request(target, asked, remainingMs);
    const answer = readJoinReply(reply);
    if (answer.kind !== "redirect") return answer;
    target = answer.address;
  }
  return { kind: "refused", reason: "its members name each other as leader: try again" };
}

type JoinReply = JoinAnswer | { readonly kind: "redirect"; readonly address: string };

function readJoinReply(reply: NetworkReply): JoinReply {
  if (reply.kind === "unreachable") return { kind: reply.isSilent ? "silent" : "refused", reason: reply.reason };
  if (reply.kind === "unknown") return { kind: "refused", reason: reply.reason };
  const { outcome, members, epoch, forward_addr: address, code, message } = reply.header;
  if (outcome === "admitted" && Array.isArray(members)) {
    return {
      kind: "admitted",
      members: members as readonly Member[],
      recoveryEpoch: typeof epoch === "number" ? epoch : 0,
    };
  }
  if (outcome === "redirect" && typeof address === "string" && address !== "") return { kind: "redirect", address };
  if (code === "no_cluster") return { kind: "silent", reason: "it does not belong to a cluster yet" };
  return { kind: "refused", reason: typeof message === "string" ? message.slice(0, 300) : "it gave no reason" };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

interface RejoinPorts extends JoinRequestPorts {
  readonly addresses: readonly string[];
  readonly afterTicks: number;
  /** Returns whether this node knows a leader, or need not ask. */
  isSettled(): boolean;
  /** Called with the members named in the answer. */
  onAdmitted(members: readonly Member[]): void;
}

/**
 * Returns a function to call at every tick. A member that has known no leader for `afterTicks` asks its join list, again after
 * each such period. If the cluster lost its quorum, no leader can answer, and nothing changes.
 */
export function createRejoinCheck(ports: RejoinPorts): () => void {
  let ticksWithoutLeader = 0;
  let isAsking = false;

  const askAll = async (): Promise<void> => {
    for (const address of ports.addresses) {
      if (ports.isSettled()) return;
      const answer = await requestJoin(address, "rejoin", ASK_TIMEOUT_MS, ports);
      if (answer.kind === "admitted") {
        ports.log.info("re-admitted to the cluster", { through: address });
        ports.onAdmitted(answer.members);
        return;
      }
      ports.log.info("not re-admitted", { address, why: answer.reason });
    }
  };

  return () => {
    ticksWithoutLeader = ports.isSettled() ? 0 : ticksWithoutLeader + 1;
    if (ticksWithoutLeader < ports.afterTicks || isAsking) return;
    ticksWithoutLeader = 0;
    isAsking = true;
    askAll()
      .catch(() => undefined)
      .finally(() => {
        isAsking = false;
      });
  };
}

const ASK_TIMEOUT_MS = 10_000;
