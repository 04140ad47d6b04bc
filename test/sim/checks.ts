/**
 * The cluster's invariants, checked after every event and at every obligation of a node: cluster reference, 10.2. They
 * examine disks, messages and applied entries, and share no code with what they check.
 */

import type { LogWrite } from "../../src/server/cluster/storage/types.ts";
import type { ConfChange, Configuration, Entry, Message, RaftStatus } from "../../src/server/core/raft/index.ts";
import { createBallots } from "./ballots.ts";
import type { DiskJob } from "./disk.ts";
import { checkChanges, checkJob } from "./disk-checks.ts";
import type { Ledger } from "./ledger.ts";
import type { Effect } from "./machine.ts";
import { configurationText, hasQuorum, isLegalStep, isSameConfiguration } from "./quorum.ts";
import { must, Violation } from "./violation.ts";
import type { SimNode } from "./world.ts";

export interface Checks {
  /** A client saw everything up to this index; no later read may show less. */
  readonly acknowledged: number;
  acknowledge(index: number): void;
  /** Reports an attempt that was definitely refused and must never be applied. */
  refuse(attempt: number): void;
  onWrite(node: SimNode, write: LogWrite): void;
  /** Called before the disk takes the job's effect. */
  onJob(node: SimNode, job: DiskJob): void;
  onSend(node: SimNode, message: Message, target: SimNode | undefined): void;
  beforeApply(node: SimNode, entry: Entry, nodes: ReadonlyMap<string, SimNode>): void;
  afterApply(node: SimNode, entry: Entry, effect: Effect | undefined): void;
  onConfiguration(node: SimNode, entry: Entry, change: ConfChange, configuration: Configuration): void;
  /** Called after each event in the node's process. */
  after(node: SimNode, nodes: ReadonlyMap<string, SimNode>): void;
  /** The configuration in force once `index` is applied. */
  configurationAt(index: number): Configuration;
  /** The index at which each operation took effect, by `client/seq`. */
  readonly effects: ReadonlyMap<string, number>;
  readonly leaderChanges: number;
}

export function createChecks(ledger: Ledger): Checks {
  const leaders = new Map<number, string>();
  const effects = new Map<string, number>();
  const refused = new Set<number>();
  const ballots = createBallots();
  const appliedAttempts = new Set<number>();
  const configurations = [{ index: 1, configuration: ledger.committed(1).configuration! }];
  let acknowledged = 1;

  const configurationAt = (index: number): Configuration => {
    let at = configurations.length - 1;
    while (at > 0 && configurations[at]!.index > index) at -= 1;
    return configurations[at]!.configuration;
  };

  /** Configurations in force while a node applied entries `from` to `to`. */
  const configurationsBetween = (from: number, to: number): readonly Configuration[] => [
    configurationAt(from),
    ...configurations.filter(({ index }) => index > from && index <= to).map(({ configuration }) => configuration),
  ];

  const checkLeader = (node: SimNode, { term }: RaftStatus): void => {
    const name = `${node.id} storage ${node.storage} life ${node.life}`;
    const other = leaders.get(term);
    if (other === name) return;
    must(other === undefined, "election safety", () => `${name} leads term ${term}, which ${other} has led`);
    leaders.set(term, name);
    const active = configurationsBetween(node.seen.applied, node.machine.appliedIndex);
    must(
      ballots.elect(term, node.id, active),
      "elected by a quorum",
      () => `${node.id} leads term ${term} without the votes of ${active.map(configurationText).join(" | ")}`,
    );
    let index = ledger.lastCommitted;
    while (index > 0 && ledger.committed(index).committedIn >= term) index -= 1;
    const { link } = ledger.committed(index);
    const { disk } = node;
    const holds = index < disk.firstIndex - 1 || disk.at(index) === link;
    must(holds, "leader completeness", () => `${name} leads term ${term} without ${index}/${link.term}`);
  };

  /**
   * Extends the global path when this node's commit index is beyond its end. The node must be a leader that counted an
   * entry of its own term, at `atLeast` or later, on a durable quorum of the configuration in force at that entry.
   */
  const checkCommit = (node: SimNode, nodes: ReadonlyMap<string, SimNode>, atLeast?: number): void => {
    if (node.driver === undefined) return;
    const status = node.driver.status();
    const { commit, term } = status;
    if (commit <= ledger.lastCommitted) return;
    const wasLeader = status.role === "leader" || (node.seen.role === "leader" && node.seen.term === term);
    must(wasLeader, "commit", () => `${node.id} holds ${commit} for committed, no leader has committed it`);
    const active = configurationsBetween(node.seen.applied, node.machine.appliedIndex);
    for (let index = commit; index >= (atLeast ?? commit); index -= 1) {
      const link = ledger.find(index, term);
      if (link === undefined) continue;
      const holds = (id: string | number): boolean => nodes.get(String(id))?.disk.durableAt(index) === link;
      if (!active.some((configuration) => hasQuorum(configuration, holds))) continue;
      ledger.commit(link, term);
      return;
    }
    must(
      ledger.find(commit, term) !== undefined,
      "commit of the own term",
      () => `${node.id} commits ${commit} in term ${term} by counting an entry of an older term`,
    );
    const text = active.map(configurationText).join(" | ");
    throw new Violation("quorum sanity", `${node.id} commits ${commit}/${term} without a durable quorum of ${text}`);
  };

  /**
   * An entry that a leader counts as stored by a member is on that member's disk, unless a later leader has replaced
   * it.
   */
  const checkMatch = (node: SimNode, status: RaftStatus, other: SimNode | undefined, match: number): void => {
    if (other === undefined || other === node || !other.disk.isWhole()) return;
    if ((node.storages.get(other.id) ?? 0) !== other.storage) return;
    if (other.disk.durable.hardState.term > status.term || match < other.disk.firstIndex) return;
    const own = node.disk.at(match);
    must(
      own === undefined || other.disk.durableAt(match) === own,
      "match is held",
      () => `${node.id} counts ${match} as held by ${other.id}, whose log ends ..${other.disk.durable.last.index}`,
    );
  };

  const checkProgress = (node: SimNode, status: RaftStatus, nodes: ReadonlyMap<string, SimNode>): void => {
    const { seen } = node;
    if (seen.matchTerm !== status.term) seen.match.clear();
    seen.matchTerm = status.term;
    for (const id of seen.match.keys()) if (!status.progress.has(id)) seen.match.delete(id);
    for (const [id, { match, next }] of status.progress) {
      const before = seen.match.get(id) ?? 0;
      must(match >= before, "monotone match", () => `${node.id}: match of ${id} goes from ${before} to ${match}`);
      must(next > match, "next above match", () => `${node.id}: next of ${id} is ${next}, match ${match}`);
      if (match > before) checkMatch(node, status, nodes.get(String(id)), match);
      seen.match.set(id, match);
    }
  };

  return {
    get acknowledged() {
      return acknowledged;
    },
    acknowledge(index) {
      acknowledged = Math.max(acknowledged, index);
    },
    refuse(attempt) {
      must(
        !appliedAttempts.has(attempt),
        "refused is refused",
        () => `attempt ${attempt} was applied and then refused`,
      );
      refused.add(attempt);
    },
    effects,
    configurationAt,
    get leaderChanges() {
      return leaders.size;
    },

    onJob(node, job) {
      checkJob(node, job, ledger);
    },

    onWrite(node, write) {
      checkChanges(node, write);
      const first = write.entries[0];
      if (first === undefined || first.index > node.disk.lastIndex) return;
      const role = node.driver?.status().role;
      must(role !== "leader", "leader append-only", () => `${node.id} leads and rewrites ${first.index}`);
    },

    onSend(node, message, target) {
      const { type, term, index } = message;
      const { last, hardState } = node.disk.durable;
      const promise = (holds: boolean, what: string): void =>
        must(holds, "durable before sent", () => `${node.id} sends ${type} of term ${term}; ${what} is not durable`);
      if (type === "MsgPreVote" || type === "MsgPreVoteResp") return;
      promise(term <= hardState.term, "its term");
      // Entries written in a later term replaced earlier ones: one write stores both changes or neither.
      const isPast = hardState.term > term;
      if (type === "MsgVote") {
        promise(isPast || hardState.vote === node.id, "its vote");
        promise(isPast || last.index >= index, "the log it counts on");
      } else if (type === "MsgVoteResp" && !message.reject) {
        promise(isPast || hardState.vote === message.to, "its vote");
        ballots.granted(term, message.to, node.id);
      } else if (type === "MsgAppResp" && !message.reject) {
        promise(isPast || index <= last.index, `entry ${index}`);
      } else if (type === "MsgHeartbeat" && target !== undefined && node.storages.get(target.id) === target.storage) {
        must(
          message.commit <= target.disk.lastIndex,
          "heartbeat within match",
          () => `${node.id} tells ${target.id} commit ${message.commit}, which holds ${target.disk.lastIndex}`,
        );
      }
    },

    beforeApply(node, entry, nodes) {
      const { index } = entry;
      // A leader applies an entry in the same event in which it learns that the entry is committed.
      if (index > ledger.lastCommitted) checkCommit(node, nodes, index);
      const before = node.machine.appliedIndex;
      must(index === before + 1, "applied in order", () => `${node.id} applies ${index} after ${before}`);
      must(
        index <= ledger.lastCommitted,
        "state-machine safety",
        () => `${node.id} applies ${index}; ${ledger.lastCommitted} is the last committed`,
      );
      const { link } = ledger.committed(index);
      must(
        node.disk.durableAt(index) === link,
        "applied after durable",
        () => `${node.id} applies ${index}, which its disk does not hold as committed`,
      );
      const isSame =
        entry === link.entry || (entry.term === link.term && Buffer.compare(entry.data, link.entry.data) === 0);
      must(isSame, "state-machine safety", () => `${node.id} applies another entry at ${index} than was committed`);
    },

    afterApply(node, { index }, effect) {
      const committed = ledger.committed(index);
      const { digest } = node.machine;
      committed.digest ??= digest;
      const agreed = committed.digest;
      must(digest === agreed, "equal states", () => `${node.id} has ${digest} at ${index}, others ${agreed}`);
      if (effect === undefined) return;
      const { client, seq, attempt } = effect.command;
      appliedAttempts.add(attempt);
      must(
        !refused.has(attempt),
        "refused is refused",
        () => `attempt ${attempt} was refused and is applied at ${index}`,
      );
      if (!effect.isFirst) return;
      const key = `${client}/${seq}`;
      const first = effects.get(key) ?? index;
      must(
        first === index,
        "at most once",
        () => `client ${client} seq ${seq} takes effect at ${first} and at ${index}`,
      );
      effects.set(key, index);
    },

    onConfiguration(node, { index }, _change, configuration) {
      const committed = ledger.committed(index);
      const known = committed.configuration;
      if (known !== undefined) {
        must(
          isSameConfiguration(known, configuration),
          "equal configurations",
          () => `${node.id} at ${index}: ${configurationText(configuration)}, others ${configurationText(known)}`,
        );
        return;
      }
      const before = configurationAt(index);
      must(
        isLegalStep(before, configuration),
        "configuration step",
        () => `at ${index} from ${configurationText(before)} to ${configurationText(configuration)}`,
      );
      committed.configuration = configuration;
      configurations.push({ index, configuration });
    },

    after(node, nodes) {
      const { driver, seen } = node;
      if (driver === undefined) return;
      const status = driver.status();
      const { term, commit, applied, role } = status;
      must(term >= seen.term, "monotone term", () => `${node.id}: term goes from ${seen.term} to ${term}`);
      must(commit >= seen.commit, "monotone commit", () => `${node.id}: commit goes from ${seen.commit} to ${commit}`);
      must(applied >= seen.applied, "monotone applied", () => `${node.id}: applied from ${seen.applied} to ${applied}`);
      must(applied <= commit, "applied within commit", () => `${node.id}: applied ${applied}, commit ${commit}`);
      if (role === "leader") {
        checkLeader(node, status);
        checkProgress(node, status, nodes);
      }
      checkCommit(node, nodes);
      seen.term = term;
      seen.commit = commit;
      seen.applied = node.machine.appliedIndex;
      seen.role = role;
    },
  };
}
