/**
 * The 41 bugs of other systems (cluster reference, section 11), each with the tests that show it is absent here. If
 * only the simulator can show it, the name is that of a mutant or of an invariant.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

/** A file below `test/`, and a text in it: a test name, a script line, a mutant, an invariant. */
type Shown = readonly [file: string, name: string];

const script = (name: string, line: string): Shown => [`server/core/raft/scripts/${name}.txt`, line];
const mutant = (name: string): Shown => ["sim/mutants.ts", `name: "${name}"`];
const invariant = (name: string): Shown => ["sim/checks.ts", `"${name}"`];
const storage = (file: string, name: string): Shown => [`server/cluster/storage/${file}.test.ts`, name];
const cluster = (file: string, name: string): Shown => [`server/cluster/${file}.test.ts`, name];
const state = (file: string, name: string): Shown => [`server/core/state/${file}.test.ts`, name];
const nodes = (file: string, name: string): Shown => [`e2e/cluster/${file}.test.ts`, name];

const BUGS: readonly (readonly [number: number, what: string, shown: readonly Shown[]])[] = [
  [
    1,
    "an entry of an older term is committed by counting its copies",
    [script("figure-8", "Bug 1: "), mutant("older-term-committed-by-counting"), invariant("leader completeness")],
  ],
  [
    2,
    "two leaders in one term, since a vote was forgotten in a crash",
    [script("vote-rules", "Bug 2: "), mutant("term-and-vote-not-synced"), mutant("vote-granted-without-fsync")],
  ],
  [3, "a leader votes for another in its own term", [script("vote-rules", "Bug 3: ")]],
  [4, "the commit index goes back", [script("stale-messages", "Bugs 4 and 7: "), invariant("monotone commit")]],
  [5, "the match index goes back", [script("stale-messages", "Bug 5: "), mutant("match-falls-on-a-late-answer")]],
  [6, "the next index falls to the match index", [script("stale-messages", "Bug 6: "), invariant("next above match")]],
  [
    7,
    "a doubled append erases good entries",
    [script("stale-messages", "Bug 7 beyond the commit index"), mutant("duplicate-append-truncates")],
  ],
  [8, "the term goes back", [script("stale-messages", "Bug 8: "), invariant("monotone term")]],
  [
    9,
    "a deposed leader answers a read with old rows",
    [
      script("read-index", "Bug 9: "),
      cluster("driver-answers", "a read at a deposed leader is not answered from its committed state"),
      mutant("read-without-a-round"),
    ],
  ],
  [
    10,
    "a read that is asked again is answered at its old index",
    [script("read-index", "Bug 10: "), mutant("read-confirmed-by-an-earlier-round")],
  ],
  [
    11,
    "a new leader answers a read before it has committed in its term",
    [script("read-index", "Bug 11: "), mutant("read-before-the-first-commit-of-the-term")],
  ],
  [
    12,
    "a lease by clocks answers a read after another leads",
    [script("slow-clock", "Bug 12: "), ["sim/simulation.ts", '"linearizability"'], ["sim/node.ts", "clockRate: "]],
  ],
  [
    13,
    "a single node acknowledges before its disk has the write",
    [
      script("single-voter", "bug 13"),
      cluster("consensus/driver", "a single voter applies and answers only after its own write"),
      cluster("open-cluster", "bug 13: a restart keeps every acknowledged write"),
    ],
  ],
  [
    14,
    "rows and the index that they stand at are written apart",
    [
      storage("state-store", "rows, removals and their index are one write, found again after a restart"),
      cluster("consensus/state-writer", "an entry that changes no row still advances the applied index"),
      storage("state-store", "a state ahead of its log or behind the start of its log is damage"),
    ],
  ],
  [
    15,
    "two leaders change members on top of the same base",
    [script("pending-change", "Bug 15: "), mutant("change-before-the-first-commit-of-the-term")],
  ],
  [
    16,
    "a change of members that was truncated stays in force",
    [
      script("pending-change", "Bug 16: "),
      mutant("configuration-in-force-when-appended"),
      storage("log-store", "the configuration is that of the snapshot and of applied changes only"),
    ],
  ],
  [
    17,
    "a blank disk under an old id counts as the member it was",
    [
      cluster(
        "members/member-directory",
        "bug 17: answers of another data directory under a known id do not count, but its other messages do",
      ),
      cluster(
        "members/membership",
        "a member that returns with an empty directory is removed and added again once the old one is silent",
      ),
      script("removed", "bug 17"),
      nodes("recovery", "an empty disk under an old node id gets no vote through a peer list"),
    ],
  ],
  [
    18,
    "a new leader does not see the uncommitted change in its log",
    [script("pending-change", "Bug 18: "), mutant("second-change-while-one-is-pending")],
  ],
  [19, "a node that comes back with a later term deposes the leader", [script("lease", "Bug 19: ")]],
  [20, "a pre-vote never ends where terms differ", [script("pre-vote-terms", "Bug 20: ")]],
  [
    // Pre-vote and the quorum check cannot be disabled, so no two nodes differ in them.
    21,
    "nodes of different settings or versions wait for each other for ever",
    [
      script("pre-vote-terms", "A pre-vote of an earlier term is refused, not dropped."),
      ["server/cluster/wire/listen-for-links.test.ts", 'code: "protocol"'],
      state("members", "the feature level is never lowered and never above what a member supports"),
    ],
  ],
  [
    22,
    "partial links make elections without end",
    [script("check-quorum", "Bug 22: "), mutant("no-check-of-the-quorum")],
  ],
  [23, "a leader that sends and does not hear is followed for ever", [script("check-quorum", "Bug 23: ")]],
  [24, "a leader that becomes a follower drops committed entries", [script("deposed-leader", "Bug 24: ")]],
  [
    25,
    "a conflicting end of the log is left on the disk",
    [
      storage(
        "log-store",
        "conflicting entries are replaced with all that follow, and a restart finds none of them (bug 25)",
      ),
      cluster(
        "consensus/driver",
        "entries replaced while they are gathered are not written, and the first write stays complete",
      ),
    ],
  ],
  [
    26,
    "acknowledged before the sync, lost when all lose power",
    [
      mutant("append-acknowledged-before-fsync"),
      mutant("messages-leave-before-their-write"),
      invariant("durable before sent"),
      cluster("consensus/driver", "a follower acknowledges and applies entries only after their write has completed"),
      ["sim/parts.test.ts", "a power loss keeps synced data and a prefix of whole writes"],
    ],
  ],
  [
    27,
    "damage of a few disks spreads, or erases",
    [
      mutant("damaged-disk-starts"),
      ["sim/simulation.test.ts", "clusters stay correct when disks lose synced data"],
      storage("damage", "one flipped byte in the middle of a log file is refused"),
      nodes("damage", "damaged files are refused with status 11"),
    ],
  ],
  [
    28,
    "writes after a failed write are acknowledged and lost",
    [
      storage(
        "open-storage",
        "the first failed write is the last: a full disk that gets room again acknowledges nothing more (bug 28)",
      ),
      cluster("consensus/state-writer", "after a failed write no more is written, and the failure is reported once"),
      cluster(
        "open-cluster",
        "a disk failure at run time ends the node with a storage error, and pending writes are reported as possibly done",
      ),
      nodes("quorum", "a full disk ends the process"),
    ],
  ],
  [
    // No test makes an fsync fail; these show that a failed one counts like any failed write.
    29,
    "a sync fails, the next one succeeds without the data",
    [
      storage(
        "open-storage",
        "the first failed write is the last: a full disk that gets room again acknowledges nothing more (bug 28)",
      ),
      cluster(
        "open-cluster",
        "a disk failure at run time ends the node with a storage error, and pending writes are reported as possibly done",
      ),
    ],
  ],
  [
    30,
    "a transfer of leadership loses writes",
    [
      script("transfer", "bug 30"),
      cluster("open-cluster-three", "bug 30: leadership is transferred as asked on any node, and writes continue"),
      cluster("driver-answers", "when leadership is lost, all pending proposals become unknown, at once and once"),
    ],
  ],
  [31, "a learner campaigns", [script("learners", "Bug 31: "), mutant("learners-counted")]],
  [
    32,
    "the removal of the leader is never answered",
    [
      script("leader-removal", "Bug 32: "),
      cluster(
        "open-cluster-three",
        "bug 32: a prune sent to a follower that removes the leader is answered once it is done",
      ),
      cluster("driver-answers", "a joint change answers when the joint configuration is left, not when it is entered"),
      nodes("recovery", "gateway cluster prune, sent to a follower, removes a leader and keeps the others"),
    ],
  ],
  [
    33,
    "a snapshot reads rows of several indexes",
    [
      storage("state-store", "a snapshot file has the rows of the call, whatever is written meanwhile (bug 33)"),
      cluster(
        "consensus/applied-state",
        "bug 33: a snapshot under load has the rows of one index, whatever is applied meanwhile",
      ),
    ],
  ],
  [
    34,
    "a restored snapshot leaves a gap in the log",
    [
      cluster(
        "open-cluster-restarts",
        "bug 34: after a restore and a restart a joining node gets everything, and another restart finds it complete",
      ),
      storage(
        "state-store",
        "an installed snapshot replaces log and rows in one step; before it, nothing has changed (bug 34)",
      ),
    ],
  ],
  [35, "a follower stays in the state of receiving a snapshot", [script("snapshot", "Bug 35: ")]],
  [36, "a learner that was promoted refuses to vote", [script("learners", "Bug 36: ")]],
  [37, "a full window of lost messages stops for ever", [script("inflight-window", "Bug 37: ")]],
  [
    38,
    "a write that is sent again is applied twice",
    [
      mutant("command-repeated-takes-effect-again"),
      invariant("at most once"),
      cluster("consensus/submit", "every retry sends the same bytes"),
      cluster("open-cluster-three", "bug 38: the same request sent to every node at once is executed once"),
      state(
        "client-sessions",
        "each command changes the state once, however often and in whatever order it is retried",
      ),
    ],
  ],
  [
    39,
    "fail-overs with snapshots lose everything or never end",
    [
      cluster(
        "open-cluster-restarts",
        "bug 39: failovers in a loop, with snapshots, lose nothing and end with equal rows",
      ),
      ["sim/simulation.test.ts", "clusters keep every invariant under faults and settle afterwards"],
      nodes("faults", "no fault loses an acknowledged write or lets a stale value be read"),
    ],
  ],
  [
    40,
    "a lease that ended is still used",
    [
      state("usage", "a new start closes the node's grants at their full amount"),
      state("usage", "a removed member's grant is closed, and its reports are refused"),
      state("usage", "windows too far in the future or past get nothing, and a past one is settled without a grant"),
    ],
  ],
  [
    41,
    "counters are doubled or leak by lost and repeated reports",
    [state("usage", "grants never exceed the limit or fall below what is spent, whatever is lost, late or duplicated")],
  ],
];

test("every bug of the list appears once, in order", () => {
  assert.deepEqual(
    BUGS.map(([number]) => number),
    Array.from({ length: 41 }, (_, at) => at + 1),
  );
});

const texts = new Map<string, string>();

function textOf(file: string): string {
  const known = texts.get(file) ?? readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
  texts.set(file, known);
  return known;
}

for (const [number, what, shown] of BUGS) {
  test(`bug ${number}: ${what}`, () => {
    assert.ok(shown.length > 0);
    for (const [file, name] of shown) assert.ok(textOf(file).includes(name), `${file} has no ${JSON.stringify(name)}`);
  });
}
