import assert from "node:assert/strict";
import { test } from "node:test";
import {
  commands,
  createState,
  featureRowKey,
  memberRowKey,
  readFeatureLevel,
  readMember,
  unknownMember,
} from "../../../../src/server/core/state/index.ts";
import { assertDigest, type Bench, bench, member, START } from "./harness.ts";

const start = (id: string, more: Partial<Parameters<typeof commands.nodeStart>[0]> = {}) =>
  commands.nodeStart({
    id,
    storage: "a".repeat(32),
    raft_addr: "10.0.0.1:7000",
    forward_addr: "10.0.0.1:7001",
    version: "1.0.0",
    proto: [1, 1],
    feature: [1, 1],
    ...more,
  });

const row = ({ state }: Bench, id: string) => {
  const value = state.get(memberRowKey(id));
  return value === undefined ? undefined : readMember(value);
};

function change(at: Bench, added: readonly unknown[], ids: readonly string[]) {
  const context = new TextEncoder().encode(JSON.stringify({ added }));
  return at.state.applyConfiguration(
    { index: at.state.applied.index + 1, term: 1, data: new Uint8Array(0) },
    context,
    ids,
  );
}

test("a start reports the process details and raises its number", () => {
  const at = bench({ members: [member("n1")] });
  const first = at.ok(start("n1")) as { incarnation: number };
  assert.deepEqual(row(at, "n1"), { ...(start("n1").p as object), incarnation: first.incarnation });
  const second = at.ok(start("n1", { version: "1.1.0", raft_addr: "10.0.0.9:7000" })) as { incarnation: number };
  assert.ok(second.incarnation > first.incarnation);
  assert.deepEqual([row(at, "n1")?.version, row(at, "n1")?.raft_addr], ["1.1.0", "10.0.0.9:7000"]);
});

test("a nonmember and a member with another disk are refused", () => {
  const at = bench({ members: [member("n1")] });
  assert.equal(at.refusal(start("n2")), "not_a_member");
  at.ok(start("n1"));
  assert.equal(at.refusal(start("n1", { storage: "b".repeat(32) })), "storage_changed");
});

test("a change of the configuration adds and removes rows", () => {
  const at = bench();
  const known = member("n2", { storage: "c".repeat(32), raft_addr: "b:1" });
  const { result, mutations } = change(at, [known], ["n1", "n2"]);
  assert.equal(result, undefined);
  assert.deepEqual(
    mutations.map(({ key }) => key),
    ["member/n1", "member/n2"],
  );
  assert.deepEqual([row(at, "n1"), row(at, "n2")], [unknownMember("n1"), known]);
  change(at, [], ["n2"]);
  assert.deepEqual([row(at, "n1"), row(at, "n2")], [undefined, known]);
  assertDigest(at.state);
});

test("a member added again keeps its number, and its disk unless another is named", () => {
  const at = bench({ members: [member("n1")] });
  const { incarnation } = at.ok(start("n1")) as { incarnation: number };
  change(at, [member("n1", { raft_addr: "new:1" })], ["n1"]);
  assert.deepEqual(
    [row(at, "n1")?.incarnation, row(at, "n1")?.storage, row(at, "n1")?.raft_addr],
    [incarnation, "a".repeat(32), "new:1"],
  );
  change(at, [member("n1", { storage: "b".repeat(32) })], ["n1"]);
  at.ok(start("n1", { storage: "b".repeat(32) }));
});

test("a start number is never reused, even after a removal", () => {
  const at = bench({ members: [member("n1")] });
  const before = at.ok(start("n1")) as { incarnation: number };
  change(at, [], []);
  change(at, [], ["n1"]);
  const after = at.ok(start("n1")) as { incarnation: number };
  assert.ok(after.incarnation > before.incarnation);
});

test("a context that is not a membership change adds nothing, and the members are still known", () => {
  for (const context of ["", "{", "null", '{"added":7}', '{"added":[{"id":"n1"}]}', "\u00ff"]) {
    const state = createState();
    const bytes = Buffer.from(context, "latin1");
    state.applyConfiguration({ index: 1, term: 1, data: new Uint8Array(0) }, bytes, ["n1"]);
    assert.deepEqual(readMember(state.get("member/n1") ?? ""), unknownMember("n1"));
  }
});

test("a context does not admit a nonmember", () => {
  const at = bench();
  change(at, [member("n9")], ["n1"]);
  assert.equal(row(at, "n9"), undefined);
});

test("the feature level is never lowered and never above what a member supports", () => {
  const at = bench({ feature: { min: 1, max: 3 }, members: [member("n1"), member("n2", { feature: [1, 3] })] });
  const level = () => readFeatureLevel(at.state.get(featureRowKey));
  assert.equal(level(), 1);
  assert.equal(at.refusal(commands.featSet({ level: 2 })), "feature_unsupported");
  at.ok(start("n1", { feature: [1, 2] }));
  at.ok(commands.featSet({ level: 2 }));
  assert.equal(level(), 2);
  at.ok(commands.featSet({ level: 2 }));
  assert.equal(at.refusal(commands.featSet({ level: 1 })), "level_lowered");
  assert.equal(at.refusal(commands.featSet({ level: 3 })), "feature_unsupported");
  assert.equal(at.refusal(start("n1", { feature: [1, 1] })), "feature_unsupported");
  assert.equal(at.refusal(commands.featSet({ level: 0 })), "invalid");
});

test("malformed fields of a start are refused", () => {
  const at = bench({ members: [member("n1")] });
  for (const more of [{ storage: "" }, { proto: [2, 1] }, { feature: [1] }, { raft_addr: "a b" }, { version: 1 }]) {
    const { p } = start("n1");
    assert.equal(at.refusal({ t: "node.start", v: 1, p: { ...(p as object), ...more } }), "invalid");
  }
});

test("states are compared only if nothing came in between", () => {
  const at = bench();
  at.now = START;
  at.ok(commands.suspensionPut({ kind: "key", name: "a", reason: "", duration_ms: null }));
  const { digest } = at.state;
  const { index } = at.state.applied;
  assert.deepEqual(at.ok(commands.stateCheck({ index, digest })), { equal: true, digest });
  const next = at.state.digest;
  assert.deepEqual(at.ok(commands.stateCheck({ index, digest })), { equal: null, digest: next });
  const wrong = "0".repeat(32);
  const last = at.state.digest;
  assert.deepEqual(at.ok(commands.stateCheck({ index: index + 2, digest: wrong })), { equal: false, digest: last });
  assert.equal(at.refusal(commands.stateCheck({ index, digest: "x" })), "invalid");
});
