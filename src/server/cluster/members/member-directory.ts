/**
 * Directory of members as a replica knows them: their rows in the state, and facts from an admission or from the peers
 * themselves. It decides which peers to connect to, which to accept, and whose answers count.
 *
 * A member is a node id together with the identity of its data directory. Another directory under a known id has none of the
 * votes and entries of the first, so its answers do not count. Its connection is still kept, since this node's knowledge may be
 * outdated.
 */

import type { Configuration, Message } from "../../core/raft/index.ts";
import { type Member, readMember, type State } from "../../core/state/index.ts";
import type { Network } from "../network.ts";
import { idsOf } from "./membership.ts";

interface MemberDirectoryOptions {
  readonly nodeId: string;
  readonly network: Network;
  state(): State;
  /** Members learned from admissions and peers, by id; modified here. */
  readonly reportedMembers: Map<string, Member>;
  readonly self: Member;
  /** Configuration at this start, and the index up to which it is applied. */
  readonly configuration: Configuration;
  readonly applied: number;
}

export interface MemberDirectory {
  /** Returns the ids of the current configuration, sorted. */
  ids(): readonly string[];
  members(): readonly Member[];
  find(id: string): Member | undefined;
  /** Adopts a configuration and returns the ids that it no longer contains. */
  adopt(configuration: Configuration, index: number): readonly string[];
  addReported(members: readonly Member[]): void;
  /** Returns the index from which a snapshot knows the current member of this id. */
  minSnapshotIndex(id: string): number;
  /** Returns the forward addresses of other members, as far as they are known. */
  forwardAddresses(): readonly string[];
  /**
   * Returns a code to refuse a raft connection, or `undefined`. `hearsLeader`: whether this node hears a leader, so its knowledge
   * is current.
   */
  refusalCodeFor(peer: PeerHello, hearsLeader: boolean): string | undefined;
  comesFromMember(message: Message): boolean;
  /** Returns the directory whose answers count for the member; `undefined` if none is known. */
  storageOf(id: string): string | undefined;
  /** Returns whether the directory may be the member's. */
  mayBelongTo(id: string, storageId: string): boolean;
  updateConnections(): void;
}

/** Fields of a peer's hello. */
export interface PeerHello {
  readonly nodeId: string;
  readonly storageId: string;
  readonly raftAddr: string;
  readonly hasJoined: boolean;
}

/** Messages that answer, whose content depends on the sender's disk. */
const RESPONSE_TYPES: ReadonlySet<Message["type"]> = new Set([
  "MsgAppResp",
  "MsgVoteResp",
  "MsgPreVoteResp",
  "MsgHeartbeatResp",
]);

export function createMemberDirectory(options: MemberDirectoryOptions): MemberDirectory {
  const { nodeId, network, reportedMembers } = options;
  const storages = new Map<string, string>();
  /** Members that reported that their directory may not be the first one under their id. */
  const joined = new Set<string>();
  const addedAtIndex = new Map<string, number>();
  let ids = idsOf(options.configuration);

  const find = (id: string): Member | undefined => {
    const row = options.state().get(`member/${id}`);
    const member = row === undefined ? undefined : readMember(row);
    // A row without addresses belongs to a member that has not reported itself yet.
    return member === undefined || member.raft_addr === "" ? (reportedMembers.get(id) ?? member) : member;
  };

  const members = (): readonly Member[] => {
    const known = new Set(reportedMembers.keys());
    for (const [, value] of options.state().scan("member/")) known.add(readMember(value).id);
    return [...known].flatMap((id) => find(id) ?? []);
  };

  const updateConnections = (): void => {
    const wanted = members().filter(({ id, raft_addr }) => id !== nodeId && raft_addr !== "");
    const reached = ids.length === 0 ? wanted : wanted.filter(({ id }) => ids.includes(id));
    network.setPeers(new Map(reached.map((it) => [it.id, it.raft_addr])));
  };

  const recordHello = ({ nodeId: id, raftAddr, storageId, hasJoined }: PeerHello): void => {
    storages.set(id, storageId);
    if (hasJoined) joined.add(id);
    else joined.delete(id);
    const known = find(id);
    if (raftAddr === "" || known?.raft_addr === raftAddr) return;
    if (known !== undefined && known.raft_addr !== "" && ids.includes(id)) return;
    reportedMembers.set(id, {
      ...options.self,
      id,
      raft_addr: raftAddr,
      forward_addr: "",
      storage: "",
      incarnation: 0,
    });
    updateConnections();
  };

  return {
    ids: () => ids,
    members,
    find,
    adopt(configuration, index) {
      const newIds = idsOf(configuration);
      const removed = ids.filter((id) => !newIds.includes(id));
      for (const id of newIds) if (!ids.includes(id)) addedAtIndex.set(id, index);
      for (const id of removed) {
        reportedMembers.delete(id);
        addedAtIndex.delete(id);
      }
      ids = newIds;
      return removed;
    },
    addReported(more) {
      for (const member of more) reportedMembers.set(member.id, member);
      updateConnections();
    },
    forwardAddresses: () =>
      members().flatMap(({ id, forward_addr }) => (id === nodeId || forward_addr === "" ? [] : [forward_addr])),
    minSnapshotIndex: (id) => addedAtIndex.get(id) ?? options.applied,
    refusalCodeFor(peer, hearsLeader) {
      if (hearsLeader && ids.length > 0 && !ids.includes(peer.nodeId)) return "not_a_member";
      recordHello(peer);
      return undefined;
    },
    comesFromMember({ from, type }) {
      if (!RESPONSE_TYPES.has(type)) return true;
      const known = find(String(from))?.storage ?? "";
      // Before a member has reported its directory, its answers count only if it is a founder. A joined node got its row by its
      // admission, and a member that has not applied that may know the id from an earlier member.
      return known === "" ? !joined.has(String(from)) : storages.get(String(from)) === known;
    },
    storageOf: (id) => find(id)?.storage || storages.get(id),
    mayBelongTo(id, storageId) {
      const known = find(id)?.storage ?? "";
      return known === "" || known === storageId;
    },
    updateConnections,
  };
}
