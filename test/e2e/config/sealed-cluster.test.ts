/**
 * Sealed secrets in a cluster of three processes: a new value reaches all without a restart, the cluster secret is
 * changed one node after the other, and a value appears in no log, file or archive.
 */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import type { Gateway } from "../support/gateway.ts";
import { eventually } from "../support/wait.ts";
import { ask, createNodes, credentialAt, led, named, provider, ready, SECRET, SLOW_MS } from "./support/nodes.ts";

const CANARY = "canary-7f3a-never-in-the-open";
type Env = Readonly<Record<string, string>>;

test("a new secret value takes effect on all nodes, the cluster secret changes, and the value is never stored in plain text", async (t) => {
  const upstream = await named(t, "upstream");
  const nodes = await createNodes(t, { ids: ["n1", "n2", "n3"] });
  const programs = nodes.map((node) => node.launch());
  await Promise.all(nodes.map(led));
  const [n1, n2] = nodes;
  assert.ok(n1 && n2);
  const params = { name: "x" };
  await n1.client.call("put_secret", { params, body: { value: `${CANARY}-1` } });
  // A node compiles from its own state, and another node acknowledged the secret.
  await n2.client.call("list_secrets", { query: { consistent: true } });
  const body = JSON.stringify({ providers: [provider("one", upstream.url, { api_key: "${secret:x}" })] });
  await n2.client.call("put_source", { params: { name: "a" }, body });
  let gateways = await Promise.all(programs.map(ready));

  const uses = async (gateway: Gateway, value: string): Promise<void> => {
    const isUsed = async () => (await ask(t, gateway)).status === 200 && credentialAt(upstream) === `Bearer ${value}`;
    await eventually(`${value} in use`, isUsed, SLOW_MS);
  };
  for (const gateway of gateways) await uses(gateway, `${CANARY}-1`);
  const startedAt = performance.now();
  await n2.client.call("put_secret", { params, body: { value: `${CANARY}-2` }, idempotencyKey: "once" });
  for (const gateway of gateways) await uses(gateway, `${CANARY}-2`);
  t.diagnostic(`a new value served on all three after ${Math.round(performance.now() - startedAt)} ms`);

  const roll = async (secret: string, env: Env): Promise<void> => {
    for (const node of nodes) {
      await node.stop();
      await node.writeNode({}, { secret });
      await node.start(env);
      await led(node);
    }
    gateways = await Promise.all(nodes.map(({ program }) => ready(program)));
  };
  const next = "another-secret-that-is-long-enough-for-tests";
  await roll(next, { GATEWAY_CLUSTER_SECRET_PREVIOUS: SECRET });
  const before = (await n1.client.call("list_secrets")).items[0]?.kek;
  const { kek, data_keys } = await n1.client.call("rewrap_secrets");
  assert.notEqual(kek, before);
  assert.equal(data_keys, 1);
  assert.equal((await n1.client.call("list_secrets")).items[0]?.kek, kek);
  await roll(next, {});
  for (const gateway of gateways) await uses(gateway, `${CANARY}-2`);
  await n1.client.call("put_secret", { params, body: { value: `${CANARY}-3` } });
  for (const gateway of gateways) await uses(gateway, `${CANARY}-3`);

  const chunks: Uint8Array[] = [];
  for await (const chunk of await n1.client.call("save_snapshot", { query: { stale: true } })) chunks.push(chunk);
  const archive = Buffer.concat(chunks);
  const open = [archive, gunzipSync(archive)];
  for (const node of nodes) {
    open.push(Buffer.from(node.output()));
    const entries = await readdir(node.dataDir, { recursive: true, withFileTypes: true });
    const files = entries.filter((it) => it.isFile()).map((it) => join(it.parentPath, it.name));
    assert.ok(files.length > 3);
    for (const file of files) open.push(await readFile(file));
  }
  assert.ok(!open.some((bytes) => bytes.includes(CANARY)));
});
