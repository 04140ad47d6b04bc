/**
 * Rules of consensus, each broken in one place. The simulator must detect each one: `npm run sim -- -mutants` compiles
 * it with the replacement and runs seeds until one fails. `find` occurs in `file` exactly once.
 */

export interface Mutant {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** Further options for the runs that must detect it. */
  readonly args?: readonly string[];
}

const RAFT = "src/server/core/raft";
const DRIVER = "src/server/cluster/consensus/driver.ts";

export const MUTANTS: readonly Mutant[] = [
  {
    name: "vote-granted-without-fsync",
    file: `${RAFT}/raft-messages.ts`,
    find: `    case "MsgPreVoteResp":\n      return true;`,
    replace: `    case "MsgPreVoteResp":\n      return type !== "MsgVoteResp";`,
  },
  {
    name: "vote-asked-without-fsync",
    file: `${RAFT}/raft-messages.ts`,
    find: `    case "MsgPreVoteResp":\n      return true;`,
    replace: `    case "MsgPreVoteResp":\n      return type !== "MsgVote";`,
  },
  {
    name: "append-acknowledged-before-fsync",
    file: `${RAFT}/raft-messages.ts`,
    find: `    case "MsgPreVoteResp":\n      return true;`,
    replace: `    case "MsgPreVoteResp":\n      return type !== "MsgAppResp";`,
  },
  {
    name: "term-and-vote-not-synced",
    file: `${RAFT}/ready.ts`,
    find: "snapshot !== undefined || isBallotNew,",
    replace: "snapshot !== undefined,",
  },
  {
    name: "older-term-committed-by-counting",
    file: `${RAFT}/replication.ts`,
    find: " || !hasEntry(core.log, index, core.term)) return false;",
    replace: ") return false;",
  },
  {
    name: "leader-counts-itself-before-fsync",
    file: `${RAFT}/replication.ts`,
    find: "  acknowledgeOwn(core, entry.index);\n",
    replace: "  acknowledgeOwn(core, entry.index);\n  core.progress.get(core.id)!.match = entry.index;\n",
  },
  {
    name: "read-without-a-round",
    file: `${RAFT}/replication.ts`,
    find: "  addRead(core.reads, read, core.log.committed);\n  releaseReads(core);",
    replace: "  answerRead(core, { ...read, index: core.log.committed, round: 0 });",
  },
  {
    name: "read-confirmed-by-an-earlier-round",
    file: `${RAFT}/read-only.ts`,
    find: "round: reads.round + 1 });",
    replace: "round: reads.round });",
  },
  {
    name: "read-before-the-first-commit-of-the-term",
    file: `${RAFT}/replication.ts`,
    find: "  if (!isEstablished(core)) {\n    holdRead",
    replace: "  if (core.role !== 'leader') {\n    holdRead",
  },
  {
    name: "read-served-before-it-is-applied",
    file: DRIVER,
    find: "if (applied >= index) reader.done",
    replace: "if (applied >= 0) reader.done",
  },
  {
    name: "configuration-in-force-when-appended",
    file: `${RAFT}/leader.ts`,
    find: `  if (outcome.kind === "appended") core.pendingConfIndex = outcome.index;`,
    replace: `  if (outcome.kind === "appended") {
    core.pendingConfIndex = outcome.index;
    const early = applyChange(core.configuration, change);
    if (early.kind === "changed") core.configuration = early.configuration;
  }`,
  },
  {
    name: "second-change-while-one-is-pending",
    file: `${RAFT}/leader.ts`,
    find: "if (core.pendingConfIndex > core.applying.applied) return",
    replace: "if (core.pendingConfIndex < 0) return",
  },
  {
    name: "change-before-the-first-commit-of-the-term",
    file: `${RAFT}/leader.ts`,
    find: `  if (!isEstablished(core)) return { kind: "refused", reason: "not-established" };\n  if (core.pendingConfIndex > core.applying.applied)`,
    replace: `  if (core.role === "leader" && core.pendingConfIndex < 0)`,
  },
  {
    name: "votes-twice-in-a-term",
    file: `${RAFT}/election.ts`,
    find: "(core.vote === undefined && core.lead === undefined)",
    replace: "core.lead === undefined",
  },
  {
    name: "vote-for-a-shorter-log",
    file: `${RAFT}/election.ts`,
    find: "if (!mayVote || !isUpToDate(core.log, index, logTerm)) {",
    replace: "if (!mayVote) {",
  },
  {
    name: "duplicate-append-truncates",
    file: `${RAFT}/raft-log.ts`,
    find: "const fresh = entries.findIndex((entry) => !hasEntry(log, entry.index, entry.term));",
    replace: "const fresh = entries.findIndex((entry) => entry.index > log.committed);",
  },
  {
    name: "append-without-the-entry-before",
    file: `${RAFT}/raft-log.ts`,
    find: "if (!hasEntry(log, index, term)) return undefined;",
    replace: "if (index > lastIndex(log)) return undefined;",
  },
  {
    name: "heartbeat-tells-commit-beyond-match",
    file: `${RAFT}/replication.ts`,
    find: "const commit = Math.min(progress.match, core.log.committed);",
    replace: "const commit = core.log.committed;",
  },
  {
    name: "learners-counted",
    file: `${RAFT}/replication.ts`,
    find: "const index = quorumIndex(core.configuration, core.matchOf);",
    replace: `const { voters, learners } = core.configuration;
  const index = quorumIndex({ ...core.configuration, voters: [...voters, ...learners] }, core.matchOf);`,
  },
  {
    name: "joint-commit-by-one-majority",
    file: `${RAFT}/quorum.ts`,
    find: "return Math.min(majorityIndex(configuration.voters, indexOf), majorityIndex(configuration.votersOutgoing, indexOf));",
    replace: "return majorityIndex(configuration.voters, indexOf);",
  },
  {
    name: "applied-before-durable",
    file: `${RAFT}/applying.ts`,
    find: "const end = Math.min(log.committed, durableIndex(log)) + 1;",
    replace: "const end = log.committed + 1;",
  },
  {
    name: "older-snapshot-installed",
    file: `${RAFT}/follower.ts`,
    find: "  if (snapshot.index <= log.committed) return false;\n",
    replace: "",
  },
  {
    name: "match-falls-on-a-late-answer",
    file: `${RAFT}/progress.ts`,
    find: "  if (index <= progress.match) return false;\n",
    replace: "",
  },
  {
    name: "messages-leave-before-their-write",
    file: DRIVER,
    find: "    append.after.push(...ready.messagesAfterAppend);",
    replace: `    for (const message of ready.messagesAfterAppend) {
      if (message.to === options.id) append.after.push(message);
      else send(message);
    }`,
  },
  {
    name: "write-joined-after-it-started",
    file: DRIVER,
    find: "const last = isBusy && queue.length === 1 ? undefined : queue.at(-1);",
    replace: "const last = queue.at(-1);",
  },
  {
    name: "command-repeated-takes-effect-again",
    file: "test/sim/machine.ts",
    find: "const isRepeated = session !== undefined && seq <= session.seq;",
    replace: "const isRepeated = session !== undefined && seq < session.seq;",
  },
  {
    name: "damaged-disk-starts",
    file: "test/sim/disk.ts",
    find: "else image = { ...image",
    replace: "if (true) image = { ...image",
    args: ["-damage"],
  },
  {
    name: "no-check-of-the-quorum",
    file: `${RAFT}/replication.ts`,
    find: `  return result === "won";`,
    replace: `  return result !== undefined;`,
  },
  {
    name: "lease-ignored-by-votes",
    file: `${RAFT}/step.ts`,
    find: "if (isLeaderHeard && !transfer) return false;",
    replace: "if (isLeaderHeard && transfer) return true;",
  },
  {
    name: "word-of-what-is-not-on-the-disk",
    file: "src/server/cluster/members/peers.ts",
    find: "safeIndex: () => Math.min(store.lastIndex(), status().commit),",
    replace: "safeIndex: () => status().commit,",
  },
];
