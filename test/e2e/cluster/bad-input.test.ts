/** Input that a node must refuse with instructions and without any change, whatever its source. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { cp, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { ClassicLevel } from "classic-level";
import { memoryOf } from "../support/machine.ts";
import { createCluster, SECRET, type TestCluster, type TestNode } from "./support/cluster.ts";
import { runVerb } from "./support/program.ts";
import { callOn, oversizedFrame, sendBytes } from "./support/stranger.ts";
import { until } from "./support/until.ts";

const OTHER_SECRET = "the secret of quite another cluster, as long";
const STORAGE_REFUSED = 11;
const CANNOT_LISTEN = 12;

async function alone(t: Parameters<typeof createCluster>[0]): Promise<{ cluster: TestCluster; node: TestNode }> {
  const cluster = await createCluster(t, { ids: [] });
  const node = await cluster.add("n1", { begin: { kind: "bootstrap" } });
  await node.start();
  await cluster.leader();
  await mustWrite(node, "kept", 7);
  return { cluster, node };
}

async function mustWrite({ nodeClient }: TestNode, register: string, value: number): Promise<void> {
  const outcome = await nodeClient.write(register, value, 10_000);
  assert.equal(outcome.kind, "done", JSON.stringify(outcome));
}

async function isUnchanged(node: TestNode): Promise<void> {
  assert.deepEqual([...(await node.nodeClient.localRegisters())], [["kept", 7]]);
}

test("a data directory refuses to open for another node and then still serves its own", async (t) => {
  const { cluster, node } = await alone(t);
  await node.stop();
  const { settings, dataDir } = node;

  await t.test("a different cluster secret is refused", async () => {
    node.settings = { ...settings, secret: OTHER_SECRET };
    const { status, output } = await node.failsToStart();
    assert.equal(status, STORAGE_REFUSED, output);
    assert.match(output, /belongs to a cluster of another secret .*set cluster\.secret back/);
    assert.ok(output.includes(dataDir), output);
    assert.ok(!output.includes(OTHER_SECRET) && !output.includes(SECRET), "a secret is in the output");
  });

  await t.test("a different node id is refused", async () => {
    const other = await cluster.add("n9", { begin: { kind: "bootstrap" }, dataDir });
    const { status, output } = await other.failsToStart();
    assert.equal(status, STORAGE_REFUSED, output);
    assert.match(output, /belongs to node \\?"n1\\?", this is \\?"n9\\?": set cluster\.node_id back/);
    assert.ok(output.includes(dataDir), output);
  });

  await t.test("a newer format is refused and left unchanged", async () => {
    const newer = `${dataDir}-newer`;
    await cp(dataDir, newer, { recursive: true });
    const level = new ClassicLevel(join(newer, "raft"), { valueEncoding: "utf8", createIfMissing: false });
    await level.put("m/format", "9", { sync: true });
    await level.close();
    node.settings = { ...settings, dataDir: newer };
    const guard = join(newer, "raft-guard");
    const before = await readFile(guard);
    const { status, output } = await node.failsToStart();
    assert.equal(status, STORAGE_REFUSED, output);
    assert.match(output, /written by a newer version \(format 9, this one reads \d+\): upgrade this gateway/);
    assert.ok(output.includes(newer), output);
    assert.deepEqual(await readFile(guard), before);
    assert.equal(await formatOf(newer), "9");
  });

  await t.test("a second process is refused", async () => {
    node.settings = settings;
    await node.start();
    const second = await cluster.add("second", { begin: { kind: "bootstrap" }, dataDir });
    const { status, output } = await second.failsToStart();
    assert.equal(status, STORAGE_REFUSED, output);
    assert.match(output, /in use by another process: stop that process, or give this one its own data_dir/);
    assert.ok(output.includes(dataDir), output);
    await isUnchanged(node);
  });

  await t.test("an address in use is refused", async () => {
    const twin = await cluster.add("twin", { begin: { kind: "bootstrap" } });
    Object.assign(twin.addresses, { raftListen: node.addresses.raftListen });
    const { status, output } = await twin.failsToStart();
    assert.equal(status, CANNOT_LISTEN, output);
    assert.match(output, /another process uses the address/);
    assert.ok(output.includes(node.addresses.raftListen), output);
  });

  await t.test("a changed secret is accepted if the previous one is configured too", async () => {
    await node.stop();
    node.settings = { ...settings, secret: OTHER_SECRET, previousSecret: SECRET };
    await node.start();
    await cluster.leader(["n1"]);
    await isUnchanged(node);
  });
});

async function formatOf(dataDir: string): Promise<string | undefined> {
  const level = new ClassicLevel(join(dataDir, "raft"), { valueEncoding: "utf8", createIfMissing: false });
  const format = await level.get("m/format");
  await level.close();
  return format;
}

test("a node with the secret of another cluster is not admitted, and its log points to the secret", async (t) => {
  const { cluster, node } = await alone(t);
  const begin = { kind: "join", through: ["n1"] } as const;
  const outsider = await cluster.add("n2", { begin, secret: OTHER_SECRET });
  await outsider.launch();
  await until("n2 says why it is not admitted", () =>
    /not admitted yet.*(does not trust|not trusted|closed the connection after this side's certificate).*is `cluster\.secret` the same on both nodes\?/.test(
      outsider.output(),
    ),
  );
  assert.equal((await node.nodeClient.status()).members.length, 1);
  await isUnchanged(node);
  assert.ok(!`${outsider.output()}${node.output()}`.includes(OTHER_SECRET), "a secret is in an output");
});

test("garbage, oversized frames and invalid hellos close their connection and change nothing", async (t) => {
  const { cluster, node } = await alone(t);
  const before = await node.nodeClient.status();
  const raft = node.addresses.raftListen;
  const forward = node.addresses.forwardListen;
  const pid = node.pid;
  const memoryBefore = memoryOf(pid, "VmRSS") ?? 0;

  for (const [listener, address] of Object.entries({ raft, forward })) {
    const purpose = listener === "raft" ? "raft" : "forward";
    const caller = { secret: SECRET, nodeId: "n2", purpose } as const;

    await t.test(`${listener}: bytes that are not TLS`, async () => {
      await sendBytes(address, randomBytes(64 * 1024));
      await sendBytes(address, Buffer.from("GET / HTTP/1.1\r\nhost: x\r\n\r\n"));
      await sendBytes(address, oversizedFrame());
      // The head of a TLS record of maximum length, and nothing after it.
      await sendBytes(address, Buffer.from([0x16, 0x03, 0x01, 0xff, 0xff]));
    });

    await t.test(`${listener}: a certificate of another secret`, async () => {
      assert.deepEqual(await callOn(address, { ...caller, secret: OTHER_SECRET }), {
        refusal: undefined,
        isWelcome: false,
      });
    });

    await t.test(`${listener}: invalid hellos`, async () => {
      const refusalOf = async (hello: Readonly<Record<string, unknown>>) => {
        const { refusal, isWelcome } = await callOn(address, { ...caller, hello });
        assert.equal(isWelcome, false);
        return refusal;
      };
      assert.equal(await refusalOf({ proto: [7, 9] }), "protocol");
      assert.equal(await refusalOf({ node: "n1" }), "identity_mismatch");
      assert.equal(await refusalOf({ cluster: "0123456789abcdef" }), "wrong_cluster");
      assert.equal(await refusalOf({ purpose: purpose === "raft" ? "forward" : "raft" }), "wrong_purpose");
      assert.equal(await refusalOf({ v: 2 }), undefined);
      assert.equal(await refusalOf({ node: "x".repeat(6_000) }), undefined);
    });

    await t.test(`${listener}: an oversized frame and garbage after a welcome`, async () => {
      const oversized = await callOn(address, caller, oversizedFrame());
      if (purpose === "raft") assert.deepEqual(oversized, { refusal: "not_a_member", isWelcome: false });
      // Only members have a message connection, so this caller poses as one.
      const member = { ...caller, nodeId: "n1" };
      assert.equal((await callOn(address, member, oversizedFrame())).isWelcome, true);
      assert.equal((await callOn(address, member, randomBytes(4_096))).isWelcome, true);
    });
  }

  await t.test("the node continues unaffected", async () => {
    const after = await node.nodeClient.status();
    assert.deepEqual([after.role, after.term, after.members], [before.role, before.term, before.members]);
    await isUnchanged(node);
    await mustWrite(node, "after", 1);
    assert.match(node.output(), /refused a peer on the raft listener.*protocol/);
    const grown = (memoryOf(pid, "VmRSS") ?? 0) - memoryBefore;
    assert.ok(grown < 64 << 20, `the node has grown by ${grown >> 20} MiB`);
    assert.equal(await cluster.leader(["n1"]), "n1");
  });
});

test("an archive with wrong checksums is refused whole, and a correct one is restored", async (t) => {
  const { node } = await alone(t);
  const archive = await node.nodeClient.save(false);
  await mustWrite(node, "kept", 8);
  const tar = gunzipSync(archive);

  const refused = async (bytes: Uint8Array, reason: RegExp): Promise<void> => {
    const outcome = await node.nodeClient.restore(bytes);
    assert.equal(outcome.kind, "failed", JSON.stringify(outcome));
    assert.match(outcome.kind === "failed" ? outcome.message : "", reason);
    assert.deepEqual([...(await node.nodeClient.localRegisters())], [["kept", 8]]);
  };

  const state = tar.indexOf("state.bin");
  const flipped = Buffer.from(tar);
  flipped[state + 512 + 100] = (flipped[state + 512 + 100] ?? 0) ^ 1;
  await refused(gzipSync(flipped), /nothing was changed/);
  await refused(gzipSync(tar.subarray(0, tar.length >> 1)), /nothing was changed/);
  await refused(archive.subarray(0, archive.length >> 1), /nothing was changed/);
  await refused(randomBytes(10_000), /nothing was changed/);
  await refused(new Uint8Array(0), /nothing was changed/);
  assert.deepEqual(
    (await readdir(node.dataDir)).filter((name) => name.startsWith("restore-")),
    [],
  );

  const restored = await node.nodeClient.restore(archive);
  assert.equal(restored.kind, "done", JSON.stringify(restored));
  await isUnchanged(node);
});

test("cluster recover names a missing directory, and cluster prune a missing secret", async (t) => {
  const { node } = await alone(t);
  const missing = join(node.dataDir, "nowhere");
  const recover = await runVerb(["cluster", "recover", "-data-dir", missing, "-node-id", "n1"]);
  assert.equal(recover.status, 1, recover.stderr);
  assert.ok(recover.stderr.includes(missing), recover.stderr);
  const prune = await runVerb(["cluster", "prune", "-addr", node.addresses.forward, "-keep", "n1"]);
  assert.equal(prune.status, 2, prune.stderr);
  assert.match(prune.stderr, /GATEWAY_CLUSTER_SECRET is not set/);
  const byRaft = await runVerb(["cluster", "prune", "-addr", node.addresses.raft, "-keep", "n1"], {
    GATEWAY_CLUSTER_SECRET: SECRET,
  });
  assert.equal(byRaft.status, 1, byRaft.stderr);
  assert.match(byRaft.stderr, /this is a raft address: give the forward address/);
});
