/** Requests between nodes: answered, relayed and redirected. Source: cluster reference, section 4.3. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { WriteOutcome } from "../../../../src/server/cluster/consensus/driver-types.ts";
import { type NetworkReply, type NetworkRequest, NO_BODY } from "../../../../src/server/cluster/network.ts";
import {
  createRequests,
  type Header,
  type Requests,
  readOutcome,
} from "../../../../src/server/cluster/requests/cluster-requests.ts";
import {
  ELECTION_TICKS,
  type LeaderBench,
  type LeaderOptions,
  leaderBench,
  requestOf,
} from "../support/leader-bench.ts";
import { failure } from "../support/outcome.ts";

interface Bench extends LeaderBench {
  readonly requests: Requests;
  readonly asked: { readonly address: string; readonly asked: NetworkRequest; readonly timeoutMs: number }[];
  readonly proposed: string[];
}

/** Peers give the replies in order; the last one stays. */
function bench(options: LeaderOptions = {}, replies: readonly NetworkReply[] = []): Bench {
  const leader = leaderBench(options);
  const asked: Bench["asked"] = [];
  const proposed: string[] = [];
  const requests = createRequests({
    nodeId: "a",
    recoveryEpoch: () => 3,
    membershipOf: async (id, storage) => ({ isMember: id === "b" && storage === "storage-b", index: 7 }),
    status: () => leader.status,
    members: leader.ports.members,
    membership: leader.membership,
    silentTicks: leader.ports.silentTicks,
    maySetTime: (id) => id !== "off",
    electionTicks: ELECTION_TICKS,
    async propose(command): Promise<WriteOutcome> {
      proposed.push(Buffer.from(command).toString());
      return { kind: "applied", index: 7, result: { kind: "ok", value: 1 } };
    },
    transferLeader: leader.ports.transferLeader,
    async ask(address, what, timeoutMs) {
      asked.push({ address, asked: what, timeoutMs });
      return replies[Math.min(asked.length, replies.length) - 1] ?? { kind: "unreachable", reason: "", isSilent: true };
    },
    nextChange: leader.ports.nextChange,
    now: leader.now,
  });
  return Object.assign(leader, { requests, asked, proposed });
}

function follower(lead: string | undefined, replies: readonly NetworkReply[] = []): Bench {
  const made = bench({ role: "follower" }, replies);
  made.status = { ...made.status, lead };
  return made;
}

const reply = (header: Header): NetworkReply => ({ kind: "reply", header, body: NO_BODY });
const ask = (kind: NetworkRequest["kind"], header: Header = {}, body = NO_BODY): NetworkRequest => ({
  kind,
  header,
  body,
});

test("a command is proposed only where this node leads", async () => {
  const leads = bench();
  assert.deepEqual(await leads.requests.answer(ask("propose", {}, Buffer.from("x")), 1_000), {
    outcome: "applied",
    index: 7,
    result: { kind: "ok", value: 1 },
  });
  assert.deepEqual(leads.proposed, ["x"]);
  const follows = follower("b");
  assert.deepEqual(await follows.requests.answer(ask("propose"), 1_000), { outcome: "not-leader" });
  assert.deepEqual([follows.proposed, follows.asked], [[], []]);
});

test("each outcome of a proposal is read back, and an unintelligible one is unknown", () => {
  const result = { kind: "ok", value: null } as const;
  const cases: readonly (readonly [NetworkReply, ReturnType<typeof readOutcome>])[] = [
    [reply({ outcome: "applied", index: 7, result }), { kind: "applied", index: 7, result }],
    [reply({ outcome: "not-leader" }), { kind: "not-leader", lead: undefined }],
    [reply({ outcome: "refused", code: "disk_low" }), { kind: "refused", code: "disk_low" }],
    [reply({ outcome: "refused", code: "of a newer version" }), { kind: "unknown" }],
    [reply({ outcome: "applied" }), { kind: "unknown" }],
    [reply({ code: "internal", message: "it failed" }), { kind: "unknown" }],
    [reply({}), { kind: "unknown" }],
    [{ kind: "unknown", reason: "the link broke" }, { kind: "unknown" }],
    [{ kind: "unreachable", reason: "closed", isSilent: true }, { kind: "unreachable" }],
  ];
  for (const [given, expected] of cases) assert.deepEqual(readOutcome(given), expected);
});

test("a join is answered by the leader, redirected by a follower, and refused without a leader", async () => {
  const request = { ...requestOf("d") };
  const leads = bench();
  const admitted = await leads.requests.answer(ask("join", request), 1_000);
  assert.equal(admitted["outcome"], "admitted");
  assert.equal(admitted["epoch"], 3);
  assert.deepEqual(
    leads.ports.members().map(({ id }) => id),
    ["a", "b", "c", "d"],
  );
  assert.deepEqual(admitted["members"], leads.ports.members());

  assert.deepEqual(await follower("b").requests.answer(ask("join", request), 1_000), {
    outcome: "redirect",
    leader: "b",
    forward_addr: "b:7001",
  });
  assert.equal((await follower(undefined).requests.answer(ask("join", request), 1_000))["code"], "no_leader");

  const blank = follower(undefined);
  blank.status = { ...blank.status, configuration: { ...blank.status.configuration, voters: [] } };
  assert.equal((await blank.requests.answer(ask("join", request), 1_000))["code"], "no_cluster");
  assert.equal((await blank.requests.answer(ask("rejoin", request), 1_000))["code"], "not_found");
});

test("a malformed join request is refused, whatever is wrong with it", async () => {
  const request = { ...requestOf("d") };
  for (const wrong of [
    { id: 4 },
    { storage: undefined },
    { raft_addr: "x".repeat(301) },
    { proto: [1] },
    { proto: [1, 1.5] },
    { feature: "1-2" },
  ]) {
    const made = bench();
    const answer = await made.requests.answer(ask("join", { ...request, ...wrong }), 1_000);
    assert.equal(answer["code"], "invalid", JSON.stringify(wrong));
    assert.deepEqual(made.changes, []);
  }
});

test("a prune is relayed to the leader with one more hop and its remaining time", async () => {
  const made = follower("b", [reply({ members: ["a", "b"] })]);
  assert.deepEqual(await made.requests.askLeader("prune", { keep: ["a", "b"] }, 1_000), { members: ["a", "b"] });
  assert.deepEqual(made.asked, [
    {
      address: "b:7001",
      asked: { kind: "prune", header: { keep: ["a", "b"], hops: 1, timeout_ms: 1_000 }, body: NO_BODY },
      timeoutMs: 1_000,
    },
  ]);
});

test("a request with too many hops is not relayed further", async () => {
  const made = follower("b", [reply({})]);
  const answer = await made.requests.answer(ask("prune", { keep: ["a"], hops: 4, timeout_ms: 300 }), 1_000);
  assert.equal(answer["code"], "no_leader");
  assert.deepEqual(answer["details"], { outcome: "not-applied" });
  assert.deepEqual(made.asked, []);
});

test("a relayed request goes to the next leader if the first has stepped down or cannot be reached", async () => {
  const notLeader = reply({ code: "no_leader", message: "not any longer", details: { outcome: "not-leader" } });
  for (const first of [notLeader, { kind: "unreachable", reason: "closed", isSilent: true } as const]) {
    const made = follower("b", [first, reply({ members: [] })]);
    made.onWait = () => {
      made.status = { ...made.status, lead: "c" };
    };
    await made.requests.askLeader("prune", { keep: ["a"] }, 1_000);
    assert.deepEqual(
      made.asked.map(({ address }) => address),
      ["b:7001", "c:7001"],
    );
  }
});

test("a lost answer is not requested again, since the members may have changed", async () => {
  const made = follower("b", [{ kind: "unknown", reason: "the link broke" }]);
  await assert.rejects(
    made.requests.askLeader("prune", { keep: ["a"] }, 1_000),
    failure("no_leader", /the link broke/, { outcome: "unknown" }),
  );
  assert.equal(made.asked.length, 1);
});

test("a leader's refusal is the answer, with its own code", async () => {
  for (const code of ["conflict", "invalid", "busy"] as const) {
    const made = follower("b", [reply({ code, message: "no" })]);
    await assert.rejects(made.requests.askLeader("prune", { keep: ["a"] }, 1_000), failure(code, /^no$/));
  }
  const newer = follower("b", [reply({ code: "of_a_newer_version", message: "no" })]);
  await assert.rejects(newer.requests.askLeader("prune", { keep: ["a"] }, 1_000), failure("refused"));
});

test("without a leader a request ends in time, and nothing was done", async () => {
  const made = follower(undefined);
  await assert.rejects(
    made.requests.askLeader("prune", { keep: ["a"] }, 1_000),
    failure("no_leader", /./, { outcome: "not-applied" }),
  );
  assert.ok(made.now() >= 1_000 && made.now() <= 1_100, `${made.now()} ms`);
});

test("a pruned leader hands over, and the prune is then sent to the next", async () => {
  const made = bench({}, [reply({ members: ["b", "c"] })]);
  made.onWait = () => {
    if (made.transfers.length > 0) made.status = { ...made.status, role: "follower", lead: "b" };
  };
  assert.deepEqual(await made.requests.askLeader("prune", { keep: ["b", "c"] }, 5_000), { members: ["b", "c"] });
  assert.deepEqual(made.transfers, ["b"]);
  assert.deepEqual(made.asked[0]?.asked.header["keep"], ["b", "c"]);
});

test("one member is removed, and an unknown one is not found", async () => {
  const made = bench();
  assert.deepEqual(await made.requests.askLeader("remove", { id: "c" }, 1_000), { members: ["a", "b"] });
  assert.deepEqual(made.changes, ["remove-node c (auto)"]);
  await assert.rejects(made.requests.askLeader("remove", { id: "c" }, 1_000), failure("not_found", /members are a, b/));
});

test("leadership goes to the named member, or to the most advanced live voter", async () => {
  for (const [header, expected] of [
    [{ to: "b" }, "b"],
    [{}, "c"],
  ] as const) {
    const made = bench({ voters: ["a", "b", "c", "d"], learners: ["l"] });
    made.setProgress("b", 4);
    made.silent.set("d", ELECTION_TICKS);
    made.setProgress("d", 20);
    made.onWait = () => {
      made.status = { ...made.status, role: "follower", lead: expected };
    };
    assert.deepEqual(await made.requests.askLeader("transfer", header, 1_000), { leader: expected });
    assert.deepEqual(made.transfers, [expected]);
  }
});

test("an impossible transfer is refused, and one that does not happen ends in time", async () => {
  const made = bench({ learners: ["l"] });
  await assert.rejects(made.requests.askLeader("transfer", { to: "l" }, 1_000), failure("invalid", /voting member/));
  assert.deepEqual(await made.requests.askLeader("transfer", { to: "a" }, 1_000), { leader: "a" });
  assert.deepEqual(made.transfers, []);
  await assert.rejects(
    made.requests.askLeader("transfer", { to: "b" }, 1_000),
    failure("no_leader", /not handed to b/),
  );
  const alone = bench({ voters: ["a"] });
  await assert.rejects(alone.requests.askLeader("transfer", {}, 1_000), failure("conflict", /no other/));
});

test("the status of a node is its own", async () => {
  assert.deepEqual(await follower("b").requests.answer(ask("status"), 1_000), {
    node: "a",
    term: 2,
    role: "follower",
    leader: "b",
    members: ["a", "b", "c"],
  });
});

test("a peer's failure is a header with only code, message and details", async () => {
  const answer = await bench().requests.answer(ask("prune", { keep: [] }), 1_000);
  assert.deepEqual(answer, { code: "invalid", message: "name at least one member to keep" });
});
