/**
 * The configuration of three nodes, each a process: a document of any of them lands on all, a node that cannot serve what
 * was accepted keeps what it serves and says so, and one that is alone serves what it has stored.
 */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { gunzipSync } from "node:zlib";
import type { Gateway } from "../support/gateway.ts";
import { eventually } from "../support/wait.ts";
import {
  ask,
  createNodes,
  credentialAt,
  fileStatus,
  led,
  named,
  one,
  provider,
  ready,
  refusalOf,
  SECRET,
  SLOW_MS,
  served,
  type TestNode,
  told,
} from "./support/nodes.ts";

const IDS = ["n1", "n2", "n3"];
type Env = Readonly<Record<string, string>>;

async function startAll(nodes: readonly TestNode[], envOf: (id: string) => Env = () => ({})) {
  const programs = nodes.map((node) => node.launch(envOf(node.id)));
  return await Promise.all(programs.map(ready));
}

/** All of them answer from this upstream. */
async function allServe(t: TestContext, gateways: readonly Gateway[], from: string): Promise<void> {
  for (const gateway of gateways) {
    await eventually(`answers from ${from}`, async () => (await served(t, gateway)) === from, SLOW_MS);
  }
}

const statusOf = async (url: string): Promise<number> => (await fetch(url)).status;

async function metric(gateway: Gateway, name: string): Promise<number> {
  const text = await (await fetch(gateway.metricsUrl ?? "")).text();
  return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
}

const only = <T>(items: readonly T[], at: number): T => {
  const item = items[at];
  assert.ok(item);
  return item;
};

describe("the configuration of three nodes", () => {
  test("a reload on any lands on all; one alone serves what is stored and takes no writes", async (t) => {
    const [first, second, third] = await Promise.all(["first", "second", "third"].map((name) => named(t, name)));
    assert.ok(first && second && third);
    const nodes = await createNodes(t, { ids: IDS, deployment: one(first, 1) });
    const gateways = await startAll(nodes);
    await allServe(t, gateways, "first");
    const revisions = await Promise.all(nodes.map(({ client }) => client.call("list_sources")));
    assert.deepEqual(
      revisions.flatMap(({ items }) => items.map(({ revision, state }) => [revision, state])),
      [
        [1, "running"],
        [1, "running"],
        [1, "running"],
      ],
    );

    const n2 = only(nodes, 1);
    await n2.writeDeployment(one(second, 2));
    assert.equal((await n2.client.call("reload_config")).revision, 2);
    await allServe(t, gateways, "second");
    assert.equal((await fileStatus(only(nodes, 0))).state, "behind");

    const n3 = only(nodes, 2);
    await n3.writeDeployment(one(third));
    const from = only(gateways, 2).log().length;
    only(gateways, 2).signal("SIGHUP");
    await told(only(gateways, 2), "reloaded", from);
    await allServe(t, gateways, "third");
    assert.equal((await fileStatus(n3)).state, "in_sync");

    await Promise.all(nodes.map((node) => node.stop()));
    await n2.writeDeployment(one(second, 3));
    const alone = await n2.start();
    assert.equal(await served(t, alone), "third");
    assert.equal(await statusOf((alone.metricsUrl ?? "").replace("/metrics", "/readyz")), 200);
    const { leader, ready: isReady } = await n2.client.call("get_status");
    assert.deepEqual([leader, isReady], [null, true]);
    const status = await fileStatus(n2);
    assert.deepEqual([status.state, /not applied yet/.test(status.message)], ["diverged", true]);
    const write = n2.client.call(
      "put_secret",
      { params: { name: "x" }, body: { value: "v" } },
      { timeLimitMs: SLOW_MS },
    );
    const refusal = await refusalOf(write);
    assert.deepEqual([refusal.status, refusal.code], [503, "no_leader"]);

    // What it carries is taken as soon as there is a leader.
    await only(nodes, 0).start();
    await eventually("the newer document", async () => (await served(t, alone)) === "second", SLOW_MS);
  });

  test("a node that cannot compile what was accepted serves what it served, and says so everywhere", async (t) => {
    const [first, second, third] = await Promise.all(["first", "second", "third"].map((name) => named(t, name)));
    assert.ok(first && second && third);
    const nodes = await createNodes(t, { ids: IDS, deployment: one(first, 1) });
    const gateways = await startAll(nodes, (id) => (id === "n3" ? {} : { UPSTREAM: second.url }));
    const [n1, n3, alone] = [only(nodes, 0), only(nodes, 2), only(gateways, 2)];
    await n1.writeDeployment({ version: 2, providers: [provider("one", "${UPSTREAM}")] });
    await n1.client.call("reload_config");
    await allServe(t, gateways.slice(0, 2), "second");
    await told(alone, "the previous configuration keeps serving");
    assert.equal(await served(t, alone), "first");

    const status = await fileStatus(n3);
    assert.equal(status.state, "refused");
    assert.match(status.message, /keeps the one before: default:1:\d+: providers\[0\]\.base_url: .*UPSTREAM/);
    assert.match(status.remedy, /what this node lacks/);
    const { configuration, ready: isReady } = await n3.client.call("get_status");
    assert.equal(configuration.state, "refused");
    assert.match(configuration.message ?? "", /UPSTREAM/);
    assert.equal(isReady, true);
    const { items } = await n3.client.call("list_sources");
    assert.deepEqual([items[0]?.revision, items[0]?.state], [2, "refused"]);
    assert.match(items[0]?.message ?? "", /UPSTREAM/);
    assert.deepEqual((await n3.client.call("get_config")).sources, [{ name: "default", revision: 1 }]);
    assert.equal(await metric(alone, "gateway_configuration_refused"), 1);
    assert.equal(await metric(only(gateways, 0), "gateway_configuration_refused"), 0);
    const here = await refusalOf(n3.client.call("put_source", { params: { name: "b" }, body: "{}" }));
    assert.equal(here.code, "conflict");

    await n1.writeDeployment(one(third, 3));
    await n1.client.call("reload_config");
    await allServe(t, gateways, "third");
    assert.equal(await metric(alone, "gateway_configuration_refused"), 0);
    assert.equal((await n3.client.call("get_status")).configuration.state, "running");
  });

  test("a new value of a secret serves on all, the cluster secret changes under it, and it is never in the open", async (t) => {
    const CANARY = "canary-7f3a-never-in-the-open";
    const upstream = await named(t, "upstream");
    const nodes = await createNodes(t, { ids: IDS });
    const programs = nodes.map((node) => node.launch());
    await Promise.all(nodes.map(led));
    const [n1, n2] = [only(nodes, 0), only(nodes, 1)];
    const params = { name: "x" };
    await n1.client.call("put_secret", { params, body: { value: `${CANARY}-1` } });
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
});
