/** Manages the servers that one name of a pool resolves to: the whole pool, or a subset of it. */
import { isIP } from "node:net";
import type { Log } from "../../../base/index.ts";
import { fencedAs, isLoopback } from "./blocked-addresses.ts";
import type { Names } from "./host-names.ts";
import type { Member } from "./member.ts";
import type { FencedWhy, PoolMetrics } from "./metrics.ts";
import { RoundRobin } from "./round-robin.ts";
import { type WatchedName, watchName } from "./watched-name.ts";

/** Maximum number of members. Further addresses are ignored. */
const MOST_MEMBERS = 4_096;

interface MemberSetOptions {
  readonly provider: string;
  /** Name of the subset; empty for the whole pool. */
  readonly subset: string;
  readonly host: string;
  readonly port: number;
  readonly names: Names;
  readonly now: () => number;
  readonly isOwn: (address: string, port: number) => boolean;
  readonly metrics: PoolMetrics | undefined;
  readonly log: Pick<Log, "warn" | "info"> | undefined;
  /** Returns the member at the address, which is shared with other sets of the pool. Each member must be released once. */
  readonly acquire: (address: string) => Member;
  readonly release: (member: Member) => void;
}

export interface MemberSet {
  readonly subset: string;
  readonly turns: RoundRobin;
  /** Whether the first resolution has finished, successful or not. */
  readonly isSettled: boolean;
  readonly isClosed: boolean;
  readonly first: Promise<void>;
  /** Problem of the last resolution; `undefined` if it succeeded. */
  readonly problem: string | undefined;
  has(endpoint: string): Member | undefined;
  hurry(): void;
  close(): void;
}

export function openMemberSet(options: MemberSetOptions): MemberSet {
  const { provider, subset, host, port, names, now, isOwn, metrics, log } = options;
  const turns = new RoundRobin();
  let byEndpoint: ReadonlyMap<string, Member> = new Map();
  let isSettled = false;
  let isClosed = false;
  let problem: string | undefined;
  let lastProblem: string | undefined;
  let isLocal: boolean | undefined;

  /** Returns why the address is blocked, or `undefined` if it is allowed. */
  const fenced = (address: string): FencedWhy | undefined => {
    if (fencedAs(address) !== undefined) return "fenced";
    if (isOwn(address, port)) return "own";
    return isLoopback(address) && isLocal === false ? "rebound" : undefined;
  };

  const take = (addresses: readonly string[], found: string | undefined): void => {
    isSettled = true;
    // This prevents DNS rebinding: a name that resolved to other machines must not resolve to this one later.
    if (addresses.length > 0) isLocal = isLocal !== false && addresses.every(isLoopback);
    const left = new Map<FencedWhy, number>();
    const admitted = addresses.slice(0, MOST_MEMBERS).filter((address) => {
      const why = fenced(address);
      if (why !== undefined) left.set(why, (left.get(why) ?? 0) + 1);
      return why === undefined;
    });
    for (const [why, count] of left) metrics?.left(provider, why, count);
    const wanted = new Set(admitted);
    const staying = turns.members.filter(({ address }) => wanted.has(address));
    const known = new Set(staying.map(({ address }) => address));
    const joining = admitted.filter((address) => !known.has(address)).map(options.acquire);
    const leaving = turns.members.filter(({ address }) => !wanted.has(address));
    // Members are kept in order of arrival, so that the round robin does not depend on the order of an answer.
    turns.members = [...staying, ...joining];
    byEndpoint = new Map(turns.members.map((member) => [member.endpoint, member]));
    for (const member of leaving) options.release(member);
    problem = found ?? (turns.members.length === 0 ? fencedText(left) : undefined);
    metrics?.members(provider, subset, turns.members.length);
    metrics?.resolved(provider, subset, found === undefined ? "answered" : "failed");
    logChange([problem, left.size === 0 ? undefined : fencedText(left)].find((it) => it !== undefined));
  };

  /** Logs a problem once per change, not per query. */
  const logChange = (what: string | undefined): void => {
    if (what === lastProblem) return;
    lastProblem = what;
    const fields = { provider, ...(subset !== "" && { subset }), servers: turns.members.length };
    if (what === undefined) log?.info("the servers of a pool can be resolved again", fields);
    else log?.warn("the servers of a pool cannot be resolved correctly", { ...fields, problem: what });
  };

  let watched: WatchedName | undefined;
  if (isIP(host) === 0) watched = watchName(host, { names, now, onAnswer: take });
  else take([host], undefined);
  return {
    subset,
    turns,
    get isSettled() {
      return isSettled;
    },
    get isClosed() {
      return isClosed;
    },
    first: watched?.first ?? Promise.resolve(),
    get problem() {
      return problem;
    },
    has: (endpoint) => byEndpoint.get(endpoint),
    hurry: () => watched?.hurry(),
    close() {
      isClosed = true;
      watched?.close();
      for (const member of turns.members) options.release(member);
    },
  };
}

const FENCED: Readonly<Record<FencedWhy, string>> = {
  fenced: "it resolves to an address that the gateway never connects to",
  own: "it resolves to the gateway itself",
  rebound: "it resolves to this machine, although it resolved to other machines before",
};

const fencedText = (left: ReadonlyMap<FencedWhy, number>): string =>
  [...left.keys()].map((why) => FENCED[why]).join("; ") || "the name has no address";
