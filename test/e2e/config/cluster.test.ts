/**
 * Configuration of three node processes: a document written on any of them reaches all, a node that cannot serve an
 * accepted one keeps its previous one and reports it, and an isolated node serves what it has stored.
 */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { Gateway } from "../support/gateway.ts";
import { eventually } from "../support/wait.ts";
import {
  createNodes,
  fileStatus,
  logged,
  named,
  one,
  provider,
  ready,
  refusalOf,
  SLOW_MS,
  served,
  type TestNode,
} from "./support/nodes.ts";

const IDS = ["n1", "n2", "n3"];
type Env = Readonly<Record<string, string>>;

async function startAll(nodes: readonly TestNode[], envOf: (id: string) => Env = () => ({})) {
  const programs = nodes.map((node) => node.launch(envOf(node.id)));
  return await Promise.all(programs.map(ready));
}

/** Asserts that all of them answer from this upstream. */
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

describe("configuration of three nodes", () => {
  test("a reload on any node reaches all; a single remaining node serves the stored configuration and accepts no writes", async (t) => {
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
    assert.equal((await logged(only(gateways, 2), "reloaded", from))["file_status"], "no_version");
    await allServe(t, gateways, "second");
    await n3.client.call("reload_config");
    await allServe(t, gateways, "third");
    assert.equal((await fileStatus(n3)).state, "in_sync");
    assert.deepEqual(await Promise.all(nodes.slice(0, 2).map(async (node) => (await fileStatus(node)).state)), [
      "behind",
      "diverged",
    ]);

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

    // Its document is stored once there is a leader.
    const n1 = await only(nodes, 0).start();
    await eventually("the newer document", async () => (await served(t, alone)) === "second", SLOW_MS);
    await logged(n1, "the deployment document on disk is not applied; what the cluster stores keeps serving");
  });

  test("a node that cannot compile an accepted configuration keeps serving its previous one and reports it everywhere", async (t) => {
    const [first, second, third] = await Promise.all(["first", "second", "third"].map((name) => named(t, name)));
    assert.ok(first && second && third);
    const nodes = await createNodes(t, { ids: IDS, deployment: one(first, 1) });
    const gateways = await startAll(nodes, (id) => (id === "n3" ? {} : { UPSTREAM: second.url }));
    const [n1, n3, alone] = [only(nodes, 0), only(nodes, 2), only(gateways, 2)];
    await n1.writeDeployment({ version: 2, providers: [provider("one", "${UPSTREAM}")] });
    await n1.client.call("reload_config");
    await allServe(t, gateways.slice(0, 2), "second");
    await logged(alone, "the previous configuration keeps serving");
    assert.equal(await served(t, alone), "first");

    const status = await fileStatus(n3);
    assert.equal(status.state, "refused");
    assert.match(status.message, /keeps the previous one: default:1:\d+: providers\[0\]\.base_url: .*UPSTREAM/);
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
});
