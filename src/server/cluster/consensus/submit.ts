/**
 * Submits a command to the leader until it is applied, refused or out of time. Source: cluster reference, 2.8, 4.3.
 *
 * Every retry has the same bytes, and so the same client and sequence: the state machine applies it once. A command that was
 * handed to a leader and not answered has an unknown outcome, and is reported as such.
 */

import type { RaftStatus } from "../../core/raft/index.ts";
import type { CommandResult } from "../../core/state/index.ts";
import { ClusterError } from "../cluster-error.ts";
import type { ReadOutcome, WriteOutcome } from "./driver-types.ts";

export interface SubmitPorts {
  status(): Pick<RaftStatus, "role" | "lead">;
  /** Proposes on this node, which leads, and stamps the time. */
  propose(command: Uint8Array): Promise<WriteOutcome>;
  read(): Promise<ReadOutcome>;
  /** Forwards to the leader by its forward address. Never rejects; `unreachable` means that it was certainly not sent. */
  forward(leader: string, command: Uint8Array, timeoutMs: number): Promise<WriteOutcome | { kind: "unreachable" }>;
  /** Resolves once `index` is applied here, or after `ms`. */
  whenApplied(index: number, ms: number): Promise<boolean>;
  /** Resolves at the next change of role, leader or configuration, or after `ms`. */
  nextChange(ms: number): Promise<void>;
  /** Calls `run` once after `ms`, unless the returned function is called first. */
  schedule(ms: number, run: () => void): () => void;
  isRemoved(): boolean;
  isDiskLow(): boolean;
  /** Returns the time of a monotonic clock, in milliseconds. */
  now(): number;
}

const RETRY_MS = 50;
const LEADERLESS_WAIT_MS = 250;

/**
 * Maximum wait for a leader to accept a request; an election takes two seconds. An accepted request may run for as long as its
 * caller waits.
 */
export const LEADER_WAIT_MS = 5_000;

/** Measures the time left to find a leader, in milliseconds. `restart` restarts it when a leader has accepted the request. */
export function createLeaderWait(now: () => number): { remainingMs(): number; restart(): void } {
  let since = now();
  return {
    remainingMs: () => since + LEADER_WAIT_MS - now(),
    restart() {
      since = now();
    },
  };
}

interface SubmitResult {
  readonly index: number;
  /** Result of the command; `undefined` for an entry without one. */
  readonly result: CommandResult | undefined;
}

/** Submits a command. `waitsForApply`: whether to wait until its effect is readable on this node. */
export async function submit(
  command: Uint8Array,
  timeoutMs: number,
  ports: SubmitPorts,
  waitsForApply = true,
): Promise<SubmitResult> {
  const until = ports.now() + timeoutMs;
  const remainingMs = (): number => until - ports.now();
  const search = createLeaderWait(ports.now);
  let isUnknown = false;
  for (;;) {
    if (ports.isRemoved()) throw removedError();
    const outcome = await tryOnce(command, remainingMs(), ports);
    switch (outcome.kind) {
      case "applied":
        if (!waitsForApply || (await ports.whenApplied(outcome.index, Math.max(1, remainingMs())))) return outcome;
        throw unansweredError(true, "the write was committed, but this node has not applied it yet");
      case "unknown":
        isUnknown = true;
        search.restart();
        break;
      case "refused":
        if (outcome.code === "disk_low") throw diskLowError();
        if (outcome.code === "busy" && remainingMs() <= RETRY_MS) {
          throw new ClusterError("busy", "too many writes are in progress in the cluster: try again");
        }
        search.restart();
        break;
      case "not-leader":
      case "unreachable":
      case "leaderless":
        break;
      default:
        outcome satisfies never;
    }
    const wait = Math.min(remainingMs(), search.remainingMs());
    if (wait <= 0) throw unansweredError(isUnknown, "no leader accepted the write in time");
    await ports.nextChange(Math.min(wait, outcome.kind === "leaderless" ? LEADERLESS_WAIT_MS : RETRY_MS));
  }
}

type Attempt = WriteOutcome | { readonly kind: "unreachable" } | { readonly kind: "leaderless" };

async function tryOnce(command: Uint8Array, remainingMs: number, ports: SubmitPorts): Promise<Attempt> {
  const { role, lead } = ports.status();
  if (role === "leader") {
    if (ports.isDiskLow()) return { kind: "refused", code: "disk_low" };
    return await resolveWithin(remainingMs, ports.propose(command), { kind: "unknown" }, ports);
  }
  if (lead === undefined) return { kind: "leaderless" };
  return await ports.forward(String(lead), command, Math.max(1, remainingMs));
}

/** Waits until the leader's current commit is applied here. Resolves with its index. */
export async function readBarrier(timeoutMs: number, ports: SubmitPorts): Promise<number> {
  const until = ports.now() + Math.min(timeoutMs, LEADER_WAIT_MS);
  for (;;) {
    if (ports.isRemoved()) throw removedError();
    const remainingMs = until - ports.now();
    if (remainingMs <= 0)
      throw new ClusterError(
        "no_leader",
        "no leader confirmed the read in time: try again, or read without `consistent`",
      );
    const outcome: ReadOutcome =
      ports.status().lead === undefined
        ? { kind: "unknown" }
        : await resolveWithin(remainingMs, ports.read(), { kind: "unknown" }, ports);
    if (outcome.kind === "readable") return outcome.index;
    await ports.nextChange(Math.min(Math.max(1, until - ports.now()), LEADERLESS_WAIT_MS));
  }
}

/** Resolves with `fallback` if the work takes longer than `ms`; its later result is ignored. */
function resolveWithin<Value>(ms: number, work: Promise<Value>, fallback: Value, ports: SubmitPorts): Promise<Value> {
  return new Promise((resolve, reject) => {
    const cancel = ports.schedule(Math.max(1, ms), () => resolve(fallback));
    work.then(resolve, reject).finally(cancel);
  });
}

function unansweredError(isUnknown: boolean, what: string): ClusterError {
  return new ClusterError("no_leader", isUnknown ? `${what}; it may still be applied` : `${what}: try again`, {
    details: { outcome: isUnknown ? "unknown" : "not-applied" },
  });
}

function removedError(): ClusterError {
  return new ClusterError(
    "removed",
    "this node was removed from the cluster and accepts no writes: restart it with `cluster.join` in its node file to rejoin",
  );
}

function diskLowError(): ClusterError {
  return new ClusterError("disk_low", "the leader's disk is nearly full: free space on it; nothing was written");
}
