/**
 * The contract suites of the admin plane and of certificates over the real ports: a single-node cluster in a directory
 * of its own.
 */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, test } from "node:test";
import { createInstruments, nullLog, withResolvers } from "../../../src/base/index.ts";
import { type Cluster, deriveKeys, openCluster } from "../../../src/server/cluster/index.ts";
import { openModelStore, openModelSupply } from "../../../src/server/models/index.ts";
import { type NodeSealing, secretsPort } from "../../../src/server/node/admin/secrets-port.ts";
import { sourcesPort } from "../../../src/server/node/admin/sources-port.ts";
import { openConfiguration } from "../../../src/server/node/configuration/configuration.ts";
import { certificateStore } from "../../../src/server/node/tls/certificate-store.ts";
import { createSealedSecrets, deriveKeks, type Sealing } from "../../../src/server/secrets/index.ts";
import { eventually } from "../../e2e/support/wait.ts";
import { secretsContract } from "../admin/support/secrets-contract.ts";
import { sourcesContract } from "../admin/support/sources-contract.ts";
import { storeContract } from "../tls/acme/support/store-contract.ts";

const SECRET = "a-secret-that-is-long-enough-for-tests";

const SETTLED = { whenRebuilt: async () => undefined };

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function openOne(): Promise<Cluster> {
  const dir = await mkdtemp(join(tmpdir(), "gateway-ports-"));
  closers.push(() => rm(dir, { recursive: true, force: true }));
  const cluster = await openCluster({
    nodeId: "n1",
    dataDir: join(dir, "data"),
    secret: undefined,
    previousSecret: undefined,
    start: { kind: "bootstrap" },
    rejoin: undefined,
    deadAfterMs: undefined,
    raftAddr: "",
    forwardAddr: "",
    advertise: "",
    forwardAdvertise: "",
    version: "0.0.0",
    minFreeBytes: 0,
    log: nullLog,
  });
  closers.push(() => cluster.close());
  return cluster;
}

sourcesContract("sources of a node", async () => {
  const cluster = await openOne();
  const stop = new AbortController();
  const time = { now: Date.now, monotonic: () => performance.now() };
  const store = openModelStore({ directory: "nowhere", userAgent: "gateway/test", ...time });
  closers.push(() => store.close());
  const configuration = openConfiguration({
    models: openModelSupply({ store, log: nullLog, ...time }),
    documents: {
      path: "node.yaml",
      nodeFile: undefined,
      secretsDir: undefined,
      overlays: [],
      variables: new Set(),
      document: undefined,
      documentPath: undefined,
      rules: undefined,
      guardrails: undefined,
      problems: [],
      isSound: true,
    },
    env: {},
    cluster,
    sealed: undefined,
    instruments: createInstruments(),
    log: nullLog,
    signal: stop.signal,
    onSnapshot() {},
    onNodeFile() {},
  });
  closers.push(() => {
    stop.abort();
    configuration.close();
  });
  await configuration.begin();
  return {
    sources: sourcesPort(cluster, configuration),
    documents: {
      sound: "providers: [{ preset: openai, models: [a-*] }]\n",
      other: "providers: [{ preset: openai, models: [b-*] }]\n",
      broken: "providers:\n  - { preset: nosuch }\n",
    },
  };
});

async function sealingOf({ view }: Cluster): Promise<NodeSealing> {
  const { kekId: id, kek: key, clusterId } = await deriveKeys(SECRET);
  const sealing: Sealing = { view, keks: deriveKeks({ secret: { id, key } }), clusters: [clusterId] };
  return { sealing, sealed: createSealedSecrets(sealing) };
}

secretsContract("secrets of a node", async () => {
  const cluster = await openOne();
  return secretsPort({ cluster, nodeSealing: await sealingOf(cluster), configuration: SETTLED, now: Date.now });
});

test("storing a sealed value is answered once its users have it in force", async () => {
  const cluster = await openOne();
  const { promise, resolve } = withResolvers();
  const inForce: string[] = [];
  const configuration = {
    whenRebuilt: () => {
      inForce.push("asked");
      return promise.then(() => void inForce.push("settled"));
    },
  };
  const secrets = secretsPort({ cluster, nodeSealing: await sealingOf(cluster), configuration, now: Date.now });
  const put = secrets.put("a", "value", { by: { iss: "t", sub: "t" }, timeoutMs: 10_000 });
  await eventually("the question", () => inForce.length === 1);
  resolve();
  assert.equal((await put).version, 1);
  assert.deepEqual(inForce, ["asked", "settled"]);
});

storeContract("certificates of a cluster", async () => {
  const cluster = await openOne();
  const store = certificateStore(cluster, await sealingOf(cluster), Date.now);
  // The feature level of a new cluster rises after its first entries.
  const probe = { table: "account", id: "probe", expect: null, value: "", names: [], notAfter: null } as const;
  const signal = AbortSignal.timeout(10_000);
  await eventually("the feature level", () =>
    store.write(probe, signal).then(
      () => true,
      () => false,
    ),
  );
  await store.remove("account", "probe", 1, signal);
  return store;
});
