/** `gateway cluster prune` against scripted forward listeners, over real TLS sockets. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { execute } from "../../../src/cli/main.ts";
import { prune } from "../../../src/cli/verbs/cluster-prune.ts";
import { type Script, testServer } from "../../server/cluster/forward/harness.ts";
import { OTHER_SECRET, SECRET } from "../../server/cluster/identity/made.ts";
import { type BufferIo, bufferIo } from "../buffer-io.ts";

const env = { GATEWAY_CLUSTER_SECRET: SECRET };
const ioOf = (over: Parameters<typeof bufferIo>[0] = {}): BufferIo => bufferIo({ env, now: Date.now, ...over });

const keeps: Script = ({ kind, header, peer }) => ({
  kind: "result",
  header: kind === "prune" && peer.kind === "cli" ? { members: (header as { keep: string[] }).keep } : {},
});
const refuses =
  (code: string): Script =>
  () => ({ kind: "error", code, message: "n9 is not a member" });

test("the remaining members are printed, one per line", async (context) => {
  const { address } = await testServer(context, keeps);
  const io = ioOf();
  assert.equal(await execute(["cluster", "prune", "-addr", address, "-keep", "n1, n2,n1"], io), 0);
  assert.equal(io.out(), "n1\nn2\n");
  assert.equal(io.err(), "2 members remain.\n");
});

test("the first address that answers is used, and those before it are reported", async (context) => {
  const gone = await testServer(context, keeps);
  await gone.server.close();
  const there = await testServer(context, keeps);
  let requestCount = 0;
  const unasked = await testServer(context, () => {
    requestCount += 1;
    return { kind: "result", header: { members: [] } };
  });
  const io = ioOf();
  const addr = [gone, there, unasked].map(({ address }) => address).join(",");
  assert.equal(await execute(["cluster", "prune", "-addr", addr, "-keep", "n1"], io), 0);
  assert.equal(io.out(), "n1\n");
  assert.match(io.err(), new RegExp(`^${gone.address}: .*ECONNREFUSED`));
  assert.match(io.err(), /One member remains\.\n$/);
  assert.equal(requestCount, 0);
});

test("a refusal of the cluster is final: its message, status 1, and no other address is tried", async (context) => {
  const refusing = await testServer(context, refuses("invalid"));
  const other = await testServer(context, keeps);
  const io = ioOf();
  const addr = `${refusing.address},${other.address}`;
  assert.equal(await execute(["cluster", "prune", "-addr", addr, "-keep", "n9"], io), 1);
  assert.equal(io.out(), "");
  assert.match(io.err(), /the cluster refused: invalid: n9 is not a member/);
});

test("a cluster without a leader is retried, round after round", async (context) => {
  let requestCount = 0;
  const { address } = await testServer(context, (request, signal) => {
    requestCount += 1;
    return requestCount < 3 ? refuses("no_leader")(request, signal) : keeps(request, signal);
  });
  const io = ioOf();
  assert.equal(await prune({ addr: address, keep: "n1", attempts: 3 }, io, 1), 0);
  assert.equal(io.err().match(/no_leader/g)?.length, 2);
  requestCount = 0;
  assert.equal(await prune({ addr: address, keep: "n1", attempts: 2 }, ioOf(), 1), 1);
  assert.equal(requestCount, 2);
});

test("no answering address after the requested number of rounds exits with status 3", async (context) => {
  const gone = await testServer(context, keeps);
  await gone.server.close();
  const io = ioOf();
  assert.equal(await prune({ addr: gone.address, keep: "n1", attempts: 3 }, io, 1), 3);
  assert.equal(io.err().match(/ECONNREFUSED/g)?.length, 3);
  assert.match(io.err(), /No address answered\.\n$/);
});

test("another cluster secret is named as the likely reason", async (context) => {
  const { address } = await testServer(context, keeps, {}, { secret: OTHER_SECRET });
  const io = ioOf();
  assert.equal(await execute(["cluster", "prune", "-addr", address, "-keep", "n1"], io), 1);
  assert.match(
    io.err(),
    /not trusted.*is `cluster\.secret` the same on both nodes\? Check also that this is a forward address/,
  );
  assert.ok(!io.err().includes(SECRET));
});

test("while the secret changes, the previous one may be given too", async (context) => {
  const { address } = await testServer(context, keeps, {}, { secret: OTHER_SECRET });
  const io = ioOf({ env: { GATEWAY_CLUSTER_SECRET: SECRET, GATEWAY_CLUSTER_SECRET_PREVIOUS: OTHER_SECRET } });
  assert.equal(await execute(["cluster", "prune", "-addr", address, "-keep", "n1"], io), 0);
});

test("an interruption ends the wait between two rounds", async (context) => {
  const gone = await testServer(context, keeps);
  await gone.server.close();
  const stop = new AbortController();
  const io = ioOf({ signal: stop.signal });
  const pruning = prune({ addr: gone.address, keep: "n1", attempts: 2 }, io, 60_000);
  while (!io.err().includes("ECONNREFUSED")) await new Promise(setImmediate);
  stop.abort();
  await assert.rejects(pruning, { name: "AbortError" });
});

const USAGE: readonly (readonly [args: readonly string[], env: Record<string, string>, words: RegExp])[] = [
  [["-addr", "n1:7001", "-keep", "n1"], {}, /GATEWAY_CLUSTER_SECRET is not set/],
  [["-addr", "n1:7001", "-keep", "n1"], { GATEWAY_CLUSTER_SECRET: "" }, /GATEWAY_CLUSTER_SECRET is not set/],
  [["-addr", "n1:7001", "-keep", "n1"], { GATEWAY_CLUSTER_SECRET: "short" }, /fewer than 16 characters/],
  [["-keep", "n1"], env, /'-addr' is required/],
  [["-addr", "n1:7001"], env, /'-keep' is required/],
  [["-addr", "n1", "-keep", "n1"], env, /'n1' is not HOST:PORT/],
  [["-addr", ":7001", "-keep", "n1"], env, /':7001' is not HOST:PORT/],
  [["-addr", "n1:7001,", "-keep", "n1"], env, /'-addr' has an empty item/],
  [["-addr", "n1:7001", "-keep", "n1,,n2"], env, /'-keep' has an empty item/],
  [["-addr", "n1:7001", "-keep", "n 1"], env, /'n 1' is not a node id/],
  [["-addr", "n1:7001", "-keep", "n1", "-attempts", "0"], env, /from 1 to/],
  [["-addr", "n1:7001", "-keep", "n1", "n2"], env, /takes no arguments/],
];

for (const [args, answers, message] of USAGE) {
  test(`'cluster prune ${args.join(" ")}' is a usage error: ${message.source}`, async () => {
    const io = ioOf({ env: answers });
    assert.equal(await execute(["cluster", "prune", ...args], io), 2);
    assert.match(io.err(), message);
    assert.equal(io.out(), "");
  });
}
