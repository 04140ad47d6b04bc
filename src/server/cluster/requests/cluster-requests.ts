/**
 * Answers requests between nodes about the cluster itself, and finds the leader for them. Source: cluster reference, section 4.3.
 * A follower relays requests that only a leader can carry out. A join is redirected, so that the new node learns the leader's
 * address.
 */

import type { RaftStatus } from "../../core/raft/index.ts";
import type { Member } from "../../core/state/index.ts";
import { ClusterError, clusterErrorOf } from "../cluster-error.ts";
import type { WriteOutcome } from "../consensus/driver-types.ts";
import { createLeaderWait } from "../consensus/submit.ts";
import { type Deadline, idsOf, type JoinRequest, type Membership, mostAdvanced } from "../members/membership.ts";
import { type NetworkReply, type NetworkRequest, NO_BODY } from "../network.ts";

export type Header = Readonly<Record<string, unknown>>;

/** Requests that only the leader carries out. */
type LeaderKind = "prune" | "remove" | "transfer";

interface RequestPorts {
  readonly nodeId: string;
  recoveryEpoch(): number;
  /** Reads membership as confirmed by a leader. Rejects with a `ClusterError` if none confirms it. */
  membershipOf(
    id: string,
    storageId: string,
    timeoutMs: number,
  ): Promise<{ readonly isMember: boolean; readonly index: number }>;
  status(): RaftStatus;
  members(): readonly Member[];
  readonly membership: Membership;
  silentTicks(id: string): number;
  /** Returns whether the member's clock is close enough to the others' for it to lead. */
  maySetTime(id: string): boolean;
  readonly electionTicks: number;
  propose(command: Uint8Array): Promise<WriteOutcome>;
  transferLeader(to: string): void;
  ask(address: string, asked: NetworkRequest, timeoutMs: number): Promise<NetworkReply>;
  nextChange(ms: number): Promise<void>;
  /** Returns the time of a monotonic clock, in milliseconds. */
  now(): number;
}

export interface Requests {
  /** Answers a peer. Never rejects: a failure is a header with `code` and `message`. */
  answer(asked: NetworkRequest, timeoutMs: number): Promise<Header>;
  /** Asks the leader, possibly this node, until the request is done or timed out. Rejects with a `ClusterError`. */
  askLeader(kind: LeaderKind, header: Header, timeoutMs: number): Promise<Header>;
}

const MAX_HOPS = 4;

/** Result of a request to a node that no longer leads. */
const NOT_LEADER = Symbol("elsewhere");

export function createRequests(ports: RequestPorts): Requests {
  const { membership } = ports;

  const forwardAddressOf = (id: string): string =>
    ports.members().find((member) => member.id === id)?.forward_addr ?? "";

  const deadlineAfter = (ms: number): Deadline => {
    const until = ports.now() + ms;
    return () => until - ports.now();
  };

  /** Carries out a request on the leader. */
  const performAsLeader = async (kind: LeaderKind, header: Header, deadline: Deadline): Promise<Header> => {
    switch (kind) {
      case "prune":
        await membership.prune(textsOf(header["keep"]), deadline);
        return { members: textsOf(header["keep"]).toSorted() };
      case "remove": {
        const id = String(header["id"]);
        const all = idsOf(ports.status().configuration);
        if (!all.includes(id))
          throw new ClusterError("not_found", `${id} is not a member; members are ${all.join(", ")}`);
        const members = all.filter((each) => each !== id);
        await membership.prune(members, deadline);
        return { members };
      }
      case "transfer":
        return { leader: await transfer(header["to"], deadline) };
      default:
        return kind satisfies never;
    }
  };

  const transfer = async (wanted: unknown, deadline: Deadline): Promise<string> => {
    const status = ports.status();
    const voters = status.configuration.voters.map(String);
    if (typeof wanted === "string" && !voters.includes(wanted)) {
      throw new ClusterError("invalid", `${wanted} is not a voting member; those are ${voters.join(", ")}`);
    }
    if (wanted === ports.nodeId) return ports.nodeId;
    const others = voters.filter((id) => id !== ports.nodeId && ports.silentTicks(id) < ports.electionTicks);
    if (typeof wanted === "string" && !ports.maySetTime(wanted)) {
      throw new ClusterError(
        "conflict",
        `the clock of ${wanted} is far from the other members' clocks, so it cannot lead: correct its clock, then try again`,
      );
    }
    const onTime = others.filter(ports.maySetTime);
    const to = typeof wanted === "string" ? wanted : mostAdvanced(status, onTime.length > 0 ? onTime : others);
    ports.transferLeader(to);
    for (;;) {
      const { lead: leader, role } = ports.status();
      if (role !== "leader" && leader !== undefined) return String(leader);
      if (deadline() <= 0) {
        throw new ClusterError(
          "no_leader",
          `leadership was not handed to ${to} in time: check the members, then try again`,
        );
      }
      await ports.nextChange(Math.min(100, deadline()));
    }
  };

  /** Makes one attempt at the presumed leader. Returns `undefined` if there was none, so that the leader is determined again. */
  const tryLeader = async (
    kind: LeaderKind,
    header: Header,
    deadline: Deadline,
  ): Promise<Header | typeof NOT_LEADER | undefined> => {
    const { role, lead: leader } = ports.status();
    if (role === "leader") {
      try {
        return await performAsLeader(kind, header, deadline);
      } catch (error) {
        if (isNotLeaderError(error)) return NOT_LEADER;
        throw error;
      }
    }
    if (leader === undefined) return undefined;
    const address = forwardAddressOf(String(leader));
    const hops = Number(header["hops"] ?? 0) + 1;
    if (address === "" || hops > MAX_HOPS) return undefined;
    const left = Math.max(1, deadline());
    const reply = await ports.ask(
      address,
      { kind, header: { ...header, hops, timeout_ms: left }, body: NO_BODY },
      left,
    );
    if (reply.kind === "unreachable") return undefined;
    if (reply.kind === "unknown") {
      throw new ClusterError("no_leader", `the leader was lost meanwhile (${reply.reason}): check the members`, {
        details: { outcome: "unknown" },
      });
    }
    const failure = failureOf(reply.header);
    if (failure === undefined) return reply.header;
    if (isNotLeaderError(failure)) return NOT_LEADER;
    throw failure;
  };

  const askLeader = async (kind: LeaderKind, header: Header, timeoutMs: number): Promise<Header> => {
    const deadline = deadlineAfter(timeoutMs);
    const search = createLeaderWait(ports.now);
    for (;;) {
      const done = await tryLeader(kind, header, deadline);
      if (done === NOT_LEADER) search.restart();
      else if (done !== undefined) return done;
      if (deadline() <= 0 || search.remainingMs() <= 0) {
        throw new ClusterError("no_leader", "no leader accepted the request in time: try again", {
          details: { outcome: "not-applied" },
        });
      }
      await ports.nextChange(Math.min(100, Math.max(1, deadline())));
    }
  };

  const admit = async (header: Header, deadline: Deadline): Promise<Header> => {
    const { role, lead: leader, configuration } = ports.status();
    if (idsOf(configuration).length === 0)
      throw new ClusterError("not_found", "this node does not belong to a cluster yet");
    if (role !== "leader") {
      const address = leader === undefined ? "" : forwardAddressOf(String(leader));
      if (address === "") throw new ClusterError("no_leader", "its cluster has no leader now");
      return { outcome: "redirect", leader, forward_addr: address };
    }
    await membership.admit(readJoinRequest(header), deadline);
    return { outcome: "admitted", members: ports.members(), epoch: ports.recoveryEpoch() };
  };

  const perform = async ({ kind, header, body }: NetworkRequest, timeoutMs: number): Promise<Header> => {
    switch (kind) {
      case "propose": {
        if (ports.status().role !== "leader") return { outcome: "not-leader" };
        return describeOutcome(await ports.propose(body));
      }
      case "join":
      case "rejoin":
        return await admit(header, deadlineAfter(timeoutMs));
      case "prune":
      case "remove":
      case "transfer":
        return await askLeader(kind, header, Math.min(timeoutMs, positiveNumber(header["timeout_ms"], timeoutMs)));
      case "status": {
        const { term, role, lead: leader, configuration } = ports.status();
        const asked = readMemberQuestion(header["member"]);
        const membership = asked && (await ports.membershipOf(asked.id, asked.storage, timeoutMs));
        return {
          ...{ node: ports.nodeId, term, role, leader: leader ?? null, members: idsOf(configuration) },
          ...(membership && { membership: { is_member: membership.isMember, index: membership.index } }),
        };
      }
      case "read":
        throw new ClusterError("invalid", "a command line may not read the measurements of a node");
      default:
        return kind satisfies never;
    }
  };

  return {
    async answer(asked, timeoutMs) {
      try {
        return await perform(asked, timeoutMs);
      } catch (error) {
        if (!(error instanceof ClusterError)) throw error;
        const code = error.code === "not_found" && asked.kind === "join" ? "no_cluster" : error.code;
        return { code, message: error.message, ...(error.details !== undefined && { details: error.details }) };
      }
    },
    askLeader,
  };
}

function describeOutcome(outcome: WriteOutcome): Header {
  switch (outcome.kind) {
    case "applied":
      return { outcome: "applied", index: outcome.index, result: outcome.result };
    case "refused":
      return { outcome: "refused", code: outcome.code };
    case "not-leader":
    case "unknown":
      return { outcome: outcome.kind };
    default:
      return outcome satisfies never;
  }
}

/** Parses a leader's answer to `propose`. */
export function readOutcome(reply: NetworkReply): WriteOutcome | { readonly kind: "unreachable" } {
  if (reply.kind === "unreachable") return { kind: "unreachable" };
  if (reply.kind === "unknown") return { kind: "unknown" };
  const { outcome, index, result, code } = reply.header;
  if (outcome === "applied" && typeof index === "number") {
    return { kind: "applied", index, result: result as Extract<WriteOutcome, { kind: "applied" }>["result"] };
  }
  if (outcome === "not-leader") return { kind: "not-leader", lead: undefined };
  if (outcome === "refused" && isRefusalCode(code)) return { kind: "refused", code };
  return { kind: "unknown" };
}

type RefusalCode = Extract<WriteOutcome, { kind: "refused" }>["code"];

function isRefusalCode(code: unknown): code is RefusalCode {
  return ["busy", "no_leader", "disk_low", "change_pending", "invalid"].includes(String(code));
}

function failureOf({ code, message, details }: Header): ClusterError | undefined {
  if (typeof code !== "string" || typeof message !== "string") return undefined;
  return clusterErrorOf({ code, message, ...(isRecord(details) && { details }) });
}

/** Returns whether the request was not carried out and another leader should be asked. */
function isNotLeaderError(error: unknown): boolean {
  return error instanceof ClusterError && error.code === "no_leader" && error.details?.["outcome"] === "not-leader";
}

function readJoinRequest(header: Header): JoinRequest {
  const { id, storage, raft_addr, forward_addr, version, proto, feature } = header;
  const texts = [id, storage, raft_addr, forward_addr, version];
  if (texts.some((each) => typeof each !== "string" || each.length > 300) || !isRange(proto) || !isRange(feature)) {
    throw new ClusterError("invalid", "the request to join is malformed: the node runs another version");
  }
  return {
    id: String(id),
    storage: String(storage),
    raft_addr: String(raft_addr),
    forward_addr: String(forward_addr),
    version: String(version),
    proto,
    feature,
  };
}

/** Parses the question about a member; `undefined` if it is not asked. */
function readMemberQuestion(value: unknown): { readonly id: string; readonly storage: string } | undefined {
  if (!isRecord(value)) return undefined;
  const { id, storage } = value;
  return typeof id === "string" && typeof storage === "string" ? { id, storage } : undefined;
}

function isRange(value: unknown): value is readonly [number, number] {
  return Array.isArray(value) && value.length === 2 && value.every((each) => Number.isSafeInteger(each));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

function positiveNumber(value: unknown, otherwise: number): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : otherwise;
}
