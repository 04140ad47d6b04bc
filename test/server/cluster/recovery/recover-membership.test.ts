/** Offline recovery on real directories: findings, refusals, written files, and an early stop. */

import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  inspectStorage,
  planRecovery,
  RecoveryRefused,
  recoverMembership,
} from "../../../../src/server/cluster/recovery/index.ts";
import { createStateDecoder, loadState } from "../../../../src/server/core/state/index.ts";
import { childProgram } from "../../../support/child-program.ts";
import { damage, fileOf, makeDir, open, refusal } from "../storage/fixtures.ts";
import { adding, fingerprint, normal, writeSurvivor } from "./fixtures.ts";

async function survivor(t: TestContext): Promise<string> {
  const dir = makeDir(t);
  await writeSurvivor(dir);
  return dir;
}

const none = { votersOutgoing: [], learnersNext: [], autoLeave: false };

test("everything on the disk is reported, and no byte of it changes", async (t) => {
  const dir = await survivor(t);
  const before = fingerprint(dir);
  const facts = await inspectStorage(dir);
  assert.match(facts.storageId, /^[0-9a-f]{32}$/);
  assert.deepEqual(
    { ...facts, storageId: "" },
    {
      path: dir,
      nodeId: "b",
      storageId: "",
      recoveryEpoch: 0,
      clusterId: undefined,
      term: 4,
      vote: "c",
      commit: 6,
      applied: 4,
      firstIndex: 2,
      lastIndex: 8,
      lastTerm: 3,
      snapshotIndex: 1,
      uncommitted: 2,
      configuration: { voters: ["a", "b", "c"], learners: [], ...none },
      lastConfiguration: { voters: ["a", "b", "c"], learners: ["d"], ...none },
      isBlank: false,
    },
  );
  assert.deepEqual(fingerprint(dir), before);
});

test("the copy made for inspection is removed", async (t) => {
  const dir = await survivor(t);
  const copies = () => readdirSync(tmpdir()).filter((name) => name.startsWith("gateway-recover-"));
  const before = copies();
  await inspectStorage(dir);
  damage(fileOf(dir, /\.log$/), (bytes) => bytes.subarray(0, bytes.length / 2));
  await assert.rejects(inspectStorage(dir));
  assert.deepEqual(
    copies().filter((name) => !before.includes(name)),
    [],
  );
});

test("a running node is refused by its lock, for reading and for writing", async (t) => {
  const dir = await survivor(t);
  const { path, options } = childProgram("../storage/hold-storage.ts", import.meta.url);
  const child = fork(path, [dir, "b"], { execArgv: [...options] });
  t.after(() => child.kill("SIGKILL"));
  await once(child, "message");
  const locked = refusal("locked", /in use by another process/);
  await assert.rejects(inspectStorage(dir), locked);
  await assert.rejects(recoverMembership({ dir, nodeId: "b", keep: ["b"] }), locked);
  child.kill("SIGKILL");
  await once(child, "exit");
  await inspectStorage(dir);
});

test("a missing or damaged directory cannot be recovered", async (t) => {
  const dir = makeDir(t);
  await assert.rejects(
    inspectStorage(join(dir, "nothing")),
    refusal("missing", /there is no data directory of a node at/),
  );
  mkdirSync(join(dir, "empty"));
  await assert.rejects(inspectStorage(join(dir, "empty")), refusal("missing", /no data directory/));
  await writeSurvivor(dir);
  damage(fileOf(dir, /\.log$/), (bytes) => bytes.fill(0, 100, 200));
  const before = fingerprint(dir);
  await assert.rejects(inspectStorage(dir), (error) => refusal("damaged", new RegExp(dir))(error));
  assert.deepEqual(fingerprint(dir), before);
});

test("members can be dropped and not added, and this node stays", async (t) => {
  const facts = await inspectStorage(await survivor(t));
  const plan = (...keep: readonly string[]) => planRecovery(facts, keep);
  assert.deepEqual(plan("b"), {
    kind: "change",
    configuration: { voters: ["b"], learners: [], ...none },
    dropped: ["a", "c", "d"],
  });
  assert.deepEqual(plan("d", "b", "c"), {
    kind: "change",
    configuration: { voters: ["b", "c"], learners: ["d"], ...none },
    dropped: ["a"],
  });
  assert.deepEqual(plan("a", "b", "c", "d"), { kind: "nothing", members: ["a", "b", "c", "d"] });
  for (const [keep, why] of [
    [["a"], /this is node b, which is not among the members to keep/],
    [["b", "x"], /not a member: x; members are a, b, c, d/],
    [[], /not among/],
  ] as const) {
    const refused = plan(...keep);
    assert.ok(refused.kind === "refused");
    assert.match(refused.reason, why);
  }
});

test("a recovered learner becomes a voter, since no other node is known to have the state", async (t) => {
  const facts = await inspectStorage(await survivor(t));
  const plan = planRecovery({ ...facts, nodeId: "d" }, ["d", "a"]);
  assert.ok(plan.kind === "change");
  assert.deepEqual(plan.configuration, { voters: ["a", "d"], learners: [], ...none });
});

test("a recovery keeps every log entry and drops the members, in a new term and epoch", async (t) => {
  const dir = await survivor(t);
  const outcome = await recoverMembership({ dir, nodeId: "b", keep: ["b"] });
  assert.deepEqual(outcome, {
    voters: ["b"],
    learners: [],
    dropped: ["a", "c", "d"],
    recoveryEpoch: 1,
    index: 9,
    term: 5,
  });
  const storage = await open(t, dir, "b");
  const { log } = storage;
  assert.equal(log.identity.recoveryEpoch, 1);
  assert.deepEqual([log.firstIndex(), log.lastIndex(), log.term(9)], [10, 9, 5]);
  assert.deepEqual(log.initialState(), {
    hardState: { term: 5, vote: undefined, commit: 9 },
    configuration: { voters: ["b"], learners: [], ...none },
  });
  const rows: (readonly [string, string])[] = [];
  for await (const slice of storage.state().load()) rows.push(...slice);
  const members = rows.map(([key]) => key).filter((key) => key.startsWith("member/"));
  assert.deepEqual(members, ["member/b"]);

  // The state is that of the whole log: a node that applied it normally has the same rows except for the members.
  const { applied } = storage.state();
  assert.deepEqual([applied.index, applied.term, applied.now], [9, 5, 1_700_000_000_007]);
  assert.equal(loadState({ applied, rows }).digest, applied.digest);
  assert.ok(
    rows.some(([key, value]) => key.startsWith("sess/") && value.includes("7")),
    "entry 7 was applied",
  );

  const record = log.snapshotRecord;
  assert.ok(record !== undefined);
  const decoder = createStateDecoder();
  assert.deepEqual(decoder.push(readFileSync(storage.snapshotPath(record))), rows);
  assert.deepEqual(decoder.end().digest, applied.digest);
  assert.deepEqual(readdirSync(dir), ["raft", "raft-guard", "snap-5-9.bin", "state-2"]);
  await log.append({ entries: [normal(10, 6)], hardState: { term: 6, vote: "b", commit: 9 }, sync: true });
});

test("a recovery can be followed by another, and one that changes nothing is refused", async (t) => {
  const dir = await survivor(t);
  await recoverMembership({ dir, nodeId: "b", keep: ["b", "c", "d"] });
  const second = await recoverMembership({ dir, nodeId: "b", keep: ["b"] });
  assert.deepEqual([second.recoveryEpoch, second.index, second.term], [2, 10, 6]);
  await assert.rejects(recoverMembership({ dir, nodeId: "b", keep: ["b"] }), RecoveryRefused);
  await assert.rejects(
    recoverMembership({ dir, nodeId: "a", keep: ["a"] }),
    refusal("wrong_node", /belongs to node "b"/),
  );
  assert.equal((await inspectStorage(dir)).lastIndex, 10);
});

test("a recovery stopped before its last write has changed nothing", async (t) => {
  const dir = await survivor(t);
  const whole = makeDir(t);
  cpSync(dir, whole, { recursive: true });
  await recoverMembership({ dir: whole, nodeId: "b", keep: ["b"] });
  // Files that it prepares, beside a log without them.
  for (const name of ["state-2", "snap-5-9.bin"]) cpSync(join(whole, name), join(dir, name), { recursive: true });
  const { log } = await open(t, dir, "b");
  assert.deepEqual([log.lastIndex(), log.identity.recoveryEpoch, log.snapshot().index], [8, 0, 1]);
  assert.deepEqual(readdirSync(dir), ["raft", "raft-guard", "state-1"]);
});

test("a log from before the recovery, put back afterwards, is refused", async (t) => {
  const dir = await survivor(t);
  const before = makeDir(t);
  cpSync(dir, before, { recursive: true });
  await recoverMembership({ dir, nodeId: "b", keep: ["b"] });
  rmSync(join(dir, "raft"), { recursive: true });
  cpSync(join(before, "raft"), join(dir, "raft"), { recursive: true });
  await assert.rejects(open(t, dir, "b"), refusal("forgot", /a recovery of the membership is missing/));
});

test("an empty directory has nothing to recover", async (t) => {
  const dir = makeDir(t);
  await (await open(t, dir, "b")).close();
  const facts = await inspectStorage(dir);
  assert.equal(facts.isBlank, true);
  assert.equal(planRecovery(facts, ["b"]).kind, "refused");
});

test("an uncommitted change is reported separately from committed ones", async (t) => {
  const dir = await survivor(t);
  const storage = await open(t, dir, "b");
  await storage.log.append({ entries: [adding(9, 4, "e")], hardState: { term: 4, vote: "c", commit: 8 }, sync: true });
  await storage.close();
  const { configuration, lastConfiguration, uncommitted } = await inspectStorage(dir);
  assert.deepEqual([configuration.learners, lastConfiguration.learners, uncommitted], [["d"], ["d", "e"], 1]);
});
