import assert from "node:assert/strict";
import { test } from "node:test";
import { readNodeFile } from "../../../../src/server/core/config/index.ts";
import { clusterOptionsOf } from "../../../../src/server/node/cluster/cluster-options.ts";

const SECRET = "0123456789abcdef0123456789abcdef";

function optionsOf(cluster: object) {
  const text = JSON.stringify({ cluster: { node_id: "b", data_dir: "d", ...cluster } });
  const none = { kind: "problem", message: "none" } as const;
  const read = readNodeFile({ name: "n", text }, { env: () => undefined, secret: () => none, file: () => none });
  assert.deepEqual(read.problems, []);
  assert.ok(read.document);
  return clusterOptionsOf(read.document, { dataDir: "/d", previousSecret: "", version: "1.2.3" });
}

test("a single-node cluster without a secret opens no port, even if its only peer has addresses", () => {
  const expected = {
    nodeId: "b",
    dataDir: "/d",
    secret: undefined,
    previousSecret: undefined,
    start: { kind: "bootstrap" },
    rejoin: undefined,
    deadAfterMs: undefined,
    raftAddr: "",
    forwardAddr: "",
    advertise: "",
    forwardAdvertise: "",
    version: "1.2.3",
    minFreeBytes: 268_435_456,
  };
  assert.deepEqual(optionsOf({ bootstrap: true, dead_after: "" }), expected);
  assert.deepEqual(optionsOf({ peers: [{ id: "b", raft_addr: "b:1", forward_addr: "b:2" }] }), {
    ...expected,
    start: { kind: "peers", peers: [{ id: "b", raftAddr: "b:1", forwardAddr: "b:2" }] },
  });
});

test("a peer listens on its own setting, else on its entry's; the others get the entry's addresses", () => {
  const peers = ["a", "b", "c"].map((id) => ({ id, raft_addr: `${id}:1`, forward_addr: `${id}:2` }));
  const plain = optionsOf({ secret: SECRET, peers, dead_after: "1h30m" });
  assert.equal(plain.deadAfterMs, 5_400_000);
  assert.deepEqual(
    [plain.raftAddr, plain.forwardAddr, plain.advertise, plain.forwardAdvertise],
    ["b:1", "b:2", "b:1", "b:2"],
  );
  assert.equal(plain.start.kind === "peers" && plain.start.peers.length, 3);

  const bound = optionsOf({ secret: SECRET, peers, raft_addr: ":7", forward_addr: "", forward_advertise: "x:9" });
  assert.deepEqual(
    [bound.raftAddr, bound.forwardAddr, bound.advertise, bound.forwardAdvertise],
    [":7", "b:2", "b:1", "x:9"],
  );
});

test("a joiner asks its list, again after `rejoin_after`, and falls back only if `bootstrap` is set", () => {
  const joining = { secret: SECRET, join: ["a:2", "c:2"], raft_addr: "b:1", forward_addr: "b:2", bootstrap_wait: "1s" };
  const joiner = optionsOf(joining);
  assert.deepEqual(joiner.start, { kind: "join", addresses: ["a:2", "c:2"], bootstrapAfterMs: undefined });
  assert.deepEqual(joiner.rejoin, { addresses: ["a:2", "c:2"], afterMs: 30_000 });
  const fallback = optionsOf({ ...joining, bootstrap: true, rejoin_after: "1m" });
  assert.deepEqual(fallback.start, { kind: "join", addresses: ["a:2", "c:2"], bootstrapAfterMs: 1_000 });
  assert.equal(fallback.rejoin?.afterMs, 60_000);
  assert.equal(fallback.advertise, "b:1");
});
