/** How an empty directory joins a cluster, and how a member that lost its cluster asks to be readmitted. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
  bootstrap,
  createRejoinCheck,
  firstMembers,
  type JoinRequestPorts,
  joinCluster,
  requestJoin,
} from "../../../../src/server/cluster/members/bootstrap-and-join.ts";
import { type NetworkReply, NO_BODY } from "../../../../src/server/cluster/network.ts";
import { createState, type Member } from "../../../../src/server/core/state/index.ts";
import { makeDir } from "../support/archives.ts";
import { configuration } from "../support/driver-bench.ts";
import { memberOf, requestOf } from "../support/leader-bench.ts";
import { openFor, rowsOn } from "../support/machine-bench.ts";
import { type SilentNetwork, silentNetwork } from "../support/network.ts";
import { type LogLine, memoryLog, settled } from "../support/outcome.ts";

const PEERS = ["c", "a", "b"].map((id) => ({ id, raftAddr: `${id}:7000`, forwardAddr: `${id}:7001` }));

async function foundIn(t: TestContext, nodeId: string, members: readonly Member[]) {
  const dir = makeDir(t);
  const storage = await openFor(t, dir, nodeId);
  const state = await bootstrap(storage, members);
  const { hardState, configuration: of } = storage.log.initialState();
  const snapshot = storage.log.snapshotRecord;
  await storage.close();
  return { dir, state, hardState, of, snapshot, ...(await rowsOn(t, dir, nodeId)) };
}

test("every node with the same peers writes the same first state, whatever its own details", async (t) => {
  const [a, b] = await Promise.all(
    ["a", "b"].map((id) =>
      foundIn(t, id, firstMembers(memberOf(id, { version: id }), { kind: "peers", peers: PEERS })),
    ),
  );
  assert.ok(a !== undefined && b !== undefined);
  assert.deepEqual(a.rows, b.rows);
  assert.equal(a.state.digest, b.state.digest);
  assert.deepEqual([a.of, a.hardState, a.snapshot], [b.of, b.hardState, b.snapshot]);
  assert.deepEqual(a.of, configuration("a", "b", "c"));
  assert.deepEqual(a.hardState, { term: 1, vote: undefined, commit: 1 });
  assert.equal(a.index, 1);
});

test("a node without peers founds a cluster of its own, with all its details", async (t) => {
  const self = memberOf("a");
  assert.deepEqual(firstMembers(self, { kind: "bootstrap" }), [self]);
  const { of } = await foundIn(t, "a", [self]);
  assert.deepEqual(of, configuration("a"));
});

test("a crash between the two first writes leaves an empty log, and the next start repeats both", async (t) => {
  const dir = makeDir(t);
  const members = firstMembers(memberOf("a"), { kind: "peers", peers: PEERS });
  const crashed = await openFor(t, dir);
  // Only the first of the two writes of `found`.
  const partial = createState();
  const context = Buffer.from(JSON.stringify({ added: members }));
  const { mutations } = partial.applyConfiguration({ index: 1, term: 1, data: new Uint8Array(0) }, context, [
    "a",
    "b",
    "c",
  ]);
  await crashed.state().write(mutations, partial.applied, partial.digest);
  await crashed.close();

  const storage = await openFor(t, dir);
  assert.equal(storage.log.isBlank, true);
  const state = await bootstrap(storage, members);
  await storage.close();
  const again = await openFor(t, dir);
  assert.equal(again.log.isBlank, false);
  await again.close();
  const whole = await foundIn(t, "b", members);
  assert.equal(state.digest, whole.state.digest);
  assert.deepEqual((await rowsOn(t, dir)).rows, whole.rows);
});

interface Asking extends JoinRequestPorts {
  readonly network: SilentNetwork;
  readonly lines: readonly LogLine[];
}

function asking(answer: (address: string) => NetworkReply, signal = new AbortController().signal): Asking {
  const network = silentNetwork();
  network.answer = answer;
  const { log, lines } = memoryLog();
  return { network, lines, log, signal, request: requestOf("d"), now: () => 0 };
}

const reply = (header: Readonly<Record<string, unknown>>): NetworkReply => ({ kind: "reply", header, body: NO_BODY });
const ADMITTED = reply({ outcome: "admitted", members: [memberOf("a")], epoch: 2 });

test("each reply to a join request decides how to continue", async () => {
  const cases: readonly (readonly [NetworkReply, object])[] = [
    [ADMITTED, { kind: "admitted", members: [memberOf("a")], recoveryEpoch: 2 }],
    [
      { kind: "unreachable", reason: "closed", isSilent: true },
      { kind: "silent", reason: "closed" },
    ],
    [
      { kind: "unreachable", reason: "wrong_cluster", isSilent: false },
      { kind: "refused", reason: "wrong_cluster" },
    ],
    [
      { kind: "unknown", reason: "broke" },
      { kind: "refused", reason: "broke" },
    ],
    [
      reply({ code: "no_cluster", message: "blank" }),
      { kind: "silent", reason: "it does not belong to a cluster yet" },
    ],
    [reply({ code: "conflict", message: "alive" }), { kind: "refused", reason: "alive" }],
    [reply({ outcome: "redirect", forward_addr: "" }), { kind: "refused", reason: "it gave no reason" }],
    [reply({}), { kind: "refused", reason: "it gave no reason" }],
  ];
  for (const [answers, expected] of cases) {
    assert.deepEqual(
      await requestJoin(
        "x:1",
        "join",
        1_000,
        asking(() => answers),
      ),
      expected,
    );
  }
});

test("a follower's reference to its leader is followed a few times", async () => {
  const ports = asking((address) =>
    address === "b:1" ? ADMITTED : reply({ outcome: "redirect", forward_addr: address === "a:1" ? "c:1" : "b:1" }),
  );
  assert.equal((await requestJoin("a:1", "join", 1_000, ports)).kind, "admitted");
  assert.deepEqual(
    ports.network.requests.map(({ address }) => address),
    ["a:1", "c:1", "b:1"],
  );
  const circle = asking((address) => reply({ outcome: "redirect", forward_addr: address === "a:1" ? "b:1" : "a:1" }));
  assert.deepEqual(await requestJoin("a:1", "join", 1_000, circle), {
    kind: "refused",
    reason: "its members name each other as leader: try again",
  });
  assert.equal(circle.network.requests.length, 4);
});

test("joining reports each new answer once and ends with the signal", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const stop = new AbortController();
  const ports = asking(() => ({ kind: "unreachable", reason: "closed", isSilent: true }), stop.signal);
  const joined = joinCluster(["a:1"], undefined, ports);
  for (let round = 0; round < 3; round += 1) {
    await settled();
    t.mock.timers.tick(500);
  }
  await settled();
  assert.ok(ports.network.requests.length >= 3);
  assert.equal(ports.lines.length, 1);
  stop.abort(new Error("stopped"));
  await assert.rejects(joined, /stopped/);
  const asked = ports.network.requests.length;
  t.mock.timers.tick(5_000);
  await settled();
  assert.equal(ports.network.requests.length, asked);
});

test("a member that finds no leader in time asks its list again each period until one admits it", async () => {
  let isSettled = false;
  let admitted: readonly Member[] = [];
  const ports = asking((address) => (address === "b:1" ? ADMITTED : reply({ code: "no_leader", message: "none" })));
  const tick = createRejoinCheck({
    ...ports,
    addresses: ["a:1", "b:1", "c:1"],
    afterTicks: 10,
    isSettled: () => isSettled,
    onAdmitted: (members) => {
      admitted = members;
    },
  });
  const ticks = async (count: number): Promise<void> => {
    for (let at = 0; at < count; at += 1) tick();
    await settled();
  };
  const asked = (): string =>
    ports.network.requests.map(({ address, requests: { kind } }) => `${kind} ${address}`).join(", ");
  await ticks(9);
  isSettled = true;
  await ticks(1);
  isSettled = false;
  await ticks(9);
  assert.equal(asked(), "", "a leader that was known meanwhile begins the time anew");
  await ticks(1);
  assert.equal(asked(), "rejoin a:1, rejoin b:1");
  assert.deepEqual(admitted, [memberOf("a")]);
  await ticks(9);
  assert.equal(ports.network.requests.length, 2);
  await ticks(1);
  assert.equal(ports.network.requests.length, 4);
});
