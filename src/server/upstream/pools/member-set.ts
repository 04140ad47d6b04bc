/** Manages the servers that one name of a pool resolves to: the whole pool, or a subset of it. */
import { isIP } from "node:net";
import type { Log } from "../../../base/index.ts";
import { blockedKind, isLoopback } from "./blocked-addresses.ts";
import type { NameResolver } from "./host-names.ts";
import type { Member } from "./member.ts";
import type { BlockedReason, PoolMetrics } from "./metrics.ts";
import { RoundRobin } from "./round-robin.ts";
import { type WatchedName, watchName } from "./watched-name.ts";

/** Maximum number of members. Further addresses are ignored. */
const MAX_MEMBERS = 4_096;

interface MemberSetOptions {
  readonly provider: string;
  /** Name of the subset; empty for the whole pool. */
  readonly subset: string;
  readonly host: string;
  readonly port: number;
  readonly names: NameResolver;
  readonly now: () => number;
  readonly isOwnListener: (address: string, port: number) => boolean;
  readonly metrics: PoolMetrics | undefined;
  readonly log: Pick<Log, "warn" | "info"> | undefined;
  /** Returns the member at the address, which is shared with other sets of the pool. Each member must be released once. */
  readonly acquire: (address: string) => Member;
  readonly release: (member: Member) => void;
}

export interface MemberSet {
  readonly subset: string;
  readonly roundRobin: RoundRobin;
  /** Whether the first resolution has finished, successful or not. */
  readonly isSettled: boolean;
  readonly isClosed: boolean;
  readonly firstResolution: Promise<void>;
  /** Problem of the last resolution; `undefined` if it succeeded. */
  readonly problem: string | undefined;
  memberAt(endpoint: string): Member | undefined;
  resolveNow(): void;
  close(): void;
}

export function openMemberSet(options: MemberSetOptions): MemberSet {
  const { provider, subset, host, port, names, now, isOwnListener, metrics, log } = options;
  const roundRobin = new RoundRobin();
  let byEndpoint: ReadonlyMap<string, Member> = new Map();
  let isSettled = false;
  let isClosed = false;
  let problem: string | undefined;
  let lastProblem: string | undefined;
  let isLocal: boolean | undefined;

  /** Returns why the address is blocked, or `undefined` if it is allowed. */
  const blockedReason = (address: string): BlockedReason | undefined => {
    if (blockedKind(address) !== undefined) return "fenced";
    if (isOwnListener(address, port)) return "own";
    return isLoopback(address) && isLocal === false ? "rebound" : undefined;
  };

  const applyAddresses = (addresses: readonly string[], lookupProblem: string | undefined): void => {
    isSettled = true;
    // This prevents DNS rebinding: a name that resolved to other machines must not resolve to this one later.
    if (addresses.length > 0) isLocal = isLocal !== false && addresses.every(isLoopback);
    const blockedCounts = new Map<BlockedReason, number>();
    const admitted = addresses.slice(0, MAX_MEMBERS).filter((address) => {
      const reason = blockedReason(address);
      if (reason !== undefined) blockedCounts.set(reason, (blockedCounts.get(reason) ?? 0) + 1);
      return reason === undefined;
    });
    for (const [reason, count] of blockedCounts) metrics?.countBlocked(provider, reason, count);
    const wanted = new Set(admitted);
    const staying = roundRobin.members.filter(({ address }) => wanted.has(address));
    const known = new Set(staying.map(({ address }) => address));
    const joining = admitted.filter((address) => !known.has(address)).map(options.acquire);
    const leaving = roundRobin.members.filter(({ address }) => !wanted.has(address));
    // Members are kept in order of arrival, so that the round robin does not depend on the order of an answer.
    roundRobin.members = [...staying, ...joining];
    byEndpoint = new Map(roundRobin.members.map((member) => [member.endpoint, member]));
    for (const member of leaving) options.release(member);
    problem = lookupProblem ?? (roundRobin.members.length === 0 ? blockedText(blockedCounts) : undefined);
    metrics?.setMembers(provider, subset, roundRobin.members.length);
    metrics?.countLookup(provider, subset, lookupProblem === undefined ? "answered" : "failed");
    logChange(
      [problem, blockedCounts.size === 0 ? undefined : blockedText(blockedCounts)].find((it) => it !== undefined),
    );
  };

  /** Logs a problem once per change, not per query. */
  const logChange = (newProblem: string | undefined): void => {
    if (newProblem === lastProblem) return;
    lastProblem = newProblem;
    const fields = { provider, ...(subset !== "" && { subset }), servers: roundRobin.members.length };
    if (newProblem === undefined) log?.info("the servers of a pool can be resolved again", fields);
    else log?.warn("the servers of a pool cannot be resolved correctly", { ...fields, problem: newProblem });
  };

  let watched: WatchedName | undefined;
  if (isIP(host) === 0) watched = watchName(host, { names, now, onAnswer: applyAddresses });
  else applyAddresses([host], undefined);
  return {
    subset,
    roundRobin,
    get isSettled() {
      return isSettled;
    },
    get isClosed() {
      return isClosed;
    },
    firstResolution: watched?.firstResolution ?? Promise.resolve(),
    get problem() {
      return problem;
    },
    memberAt: (endpoint) => byEndpoint.get(endpoint),
    resolveNow: () => watched?.resolveSoon(),
    close() {
      isClosed = true;
      watched?.close();
      for (const member of roundRobin.members) options.release(member);
    },
  };
}

const BLOCKED_TEXTS: Readonly<Record<BlockedReason, string>> = {
  fenced: "it resolves to an address that the gateway never connects to",
  own: "it resolves to the gateway itself",
  rebound: "it resolves to this machine, although it resolved to other machines before",
};

const blockedText = (left: ReadonlyMap<BlockedReason, number>): string =>
  [...left.keys()].map((reason) => BLOCKED_TEXTS[reason]).join("; ") || "the name has no address";
