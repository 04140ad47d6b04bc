import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  createNameResolver,
  type NameAnswer,
  searchCandidates,
} from "../../../../src/server/upstream/pools/host-names.ts";
import { dnsServer } from "../../../e2e/support/dns.ts";
import { atEnd } from "../../../e2e/support/wait.ts";

const file = { after };
const dns = await dnsServer(file);
const dir = await mkdtemp(join(tmpdir(), "gateway-names-"));
atEnd(file, () => rm(dir, { recursive: true, force: true }));
const hostsFile = join(dir, "hosts");
const resolverFile = join(dir, "resolv.conf");
await writeFile(hostsFile, "# comment\n10.9.8.7 listed.test Also.Listed # here\nfd00::9\tlisted.test\n");
await writeFile(
  resolverFile,
  "nameserver 192.0.2.1\nsearch models.svc.cluster.local svc.cluster.local\noptions ndots:5\n",
);
const names = createNameResolver({ servers: [dns.address], hostsFile, resolverFile, limitMs: 700 });

const NONE = { kind: "none", ttlMs: 5_000 };
const found = (addresses: readonly string[], ttlMs: number) => ({ kind: "addresses", addresses, ttlMs });
const look = (host: string): Promise<NameAnswer> => names.resolve(host);

test("the hosts file comes first, and localhost is this machine without it", async () => {
  assert.deepEqual(await look("LISTED.test."), { 4: found(["10.9.8.7"], 5_000), 6: found(["fd00::9"], 5_000) });
  assert.deepEqual(await look("also.listed"), { 4: found(["10.9.8.7"], 5_000), 6: NONE });
  assert.deepEqual(await look("localhost"), { 4: found(["127.0.0.1"], 5_000), 6: found(["::1"], 5_000) });
});

test("both address families are resolved, each with its TTL", async () => {
  dns.names.set("both.test", { addresses: ["10.0.0.1", "10.0.0.2", "fd00::1"], ttl: 17 });
  assert.deepEqual(await look("both.test."), {
    4: found(["10.0.0.1", "10.0.0.2"], 17_000),
    6: found(["fd00::1"], 17_000),
  });
});

test("a short name is resolved through the search list, like in a cluster's resolver", async () => {
  dns.names.set("gpu.models.svc.cluster.local", { addresses: ["10.1.1.1"], ttl: 5 });
  dns.queries.length = 0;
  assert.deepEqual((await look("gpu.models"))[4], found(["10.1.1.1"], 5_000));
  const families = (name: string): readonly string[] => [`${name} A`, `${name} AAAA`];
  assert.deepEqual(dns.queries.toSorted(), [
    ...families("gpu.models.models.svc.cluster.local"),
    ...families("gpu.models.svc.cluster.local"),
  ]);
});

test("a failing name server ends the search, since the next name may belong to another", async () => {
  dns.names.set("x.models.svc.cluster.local", "failure");
  dns.names.set("x", { addresses: ["10.6.6.6"] });
  assert.deepEqual((await look("x"))[4], { kind: "failed", problem: "the name server cannot answer" });
});

test("a thousand records are resolved, of which c-ares gives the TTL of 256", async () => {
  const addresses = Array.from({ length: 1_000 }, (_, n) => `10.2.${n >> 8}.${n & 255}`);
  dns.names.set("large.test", { addresses, ttl: 9 });
  assert.deepEqual((await look("large.test."))[4], found(addresses, 9_000));
  assert.ok(dns.overTcp() > 0);
});

test("silence is awaited up to the timeout, and an empty answer has no addresses", async () => {
  dns.names.set("silent.test", "silence");
  const startedAt = performance.now();
  const answer = await look("silent.test.");
  assert.deepEqual(answer[4], { kind: "failed", problem: "no name server answers in time" });
  assert.ok(performance.now() - startedAt < 2_000);
  assert.deepEqual(await look("absent.test."), { 4: NONE, 6: NONE });
});

test("resolv.conf decides the order", () => {
  const text = "search a.test b.test\noptions timeout:1 ndots:2";
  assert.deepEqual(searchCandidates("x", text), ["x.a.test.", "x.b.test.", "x."]);
  assert.deepEqual(searchCandidates("x.y.z", text), ["x.y.z.", "x.y.z.a.test.", "x.y.z.b.test."]);
  assert.deepEqual(searchCandidates("x.", text), ["x."]);
  assert.deepEqual(searchCandidates("x.y", ""), ["x.y."]);
  assert.deepEqual(searchCandidates("x", "domain a.test\nsearch ."), ["x."]);
});
