// tier: all
/** The watch with real gateways follows its contract. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { TABLES, type TableName } from "../../../src/admin-api/index.ts";
import type { Need, ReadableId } from "../../../src/console/model/data.ts";
import type { ConsoleEndpoint } from "../../../src/console/model/ports.ts";
import { startPlane } from "../../e2e/admin/support/plane.ts";
import { createNodes, led, provider, SLOW_MS, type TestNode } from "../../e2e/config/support/nodes.ts";
import { eventually } from "../../e2e/support/wait.ts";
import { startWatch } from "./support/watching.ts";

const ALL: readonly Need[] = [
  ...(Object.keys(TABLES) as readonly TableName[]).map((table) => ({ id: `list_${table}` as ReadableId })),
  { id: "get_status" },
  { id: "get_whoami" },
  { id: "get_config" },
  { id: "list_query_tables" },
  { id: "list_audit_records" },
  { id: "list_backend_errors", name: "one" },
  { id: "list_source_revisions", name: "base" },
  { id: "metrics" },
];

const endpointOf = ({ id, dir }: TestNode): ConsoleEndpoint => {
  const path = join(dir, "admin.sock");
  return { endpoint: { kind: "socket", path }, name: id, flags: `-socket ${path}` };
};

const scrape = async (url: string, signal: AbortSignal): Promise<string> => (await fetch(url, { signal })).text();

test("every readable list is read, and changes become visible", async (t) => {
  const plane = await startPlane(t);
  const { metricsUrl = "" } = plane.gateway;
  const watch = startWatch(t, [endpointOf(plane.node)], { metricsUrl, scrape });
  watch.need(ALL);
  await watch.sees(
    "a value of each",
    ({ get }) => ALL.every((need) => get(need)?.value !== undefined && get(need)?.failure === undefined),
    SLOW_MS,
  );
  const metrics = await watch.sees("two scrapes", ({ get }) => {
    const value = get({ id: "metrics" })?.value;
    return value !== undefined && value.requests.length >= 2 && value;
  });
  assert.deepEqual([metrics.requests.at(-1), metrics.inFlight.at(-1)], [0, 0]);
  assert.equal(watch.data.at(-1)?.get({ id: "get_whoami" })?.value?.issuer, "local");

  const { client } = plane.node;
  await client.call("create_key", { body: { name: "watched" } });
  const keyed = await watch.sees("the key", ({ get }) => get({ id: "list_keys" })?.value?.[0]);
  assert.equal(keyed.name, "watched");
  const params = { kind: "provider", name: "one" } as const;
  await client.call("put_suspension", { params, body: { reason: "seen" } });
  await watch.sees("the suspension", ({ get }) => get({ id: "list_suspensions" })?.value?.[0]?.reason === "seen");
  await watch.sees("its provider", ({ get }) => get({ id: "list_backends" })?.value?.[0]?.state === "suspended");
  await client.call("delete_suspension", { params });
  await watch.sees("its end", ({ get }) => get({ id: "list_suspensions" })?.value?.length === 0);
  await client.call("put_source", {
    params: { name: "base" },
    body: JSON.stringify({ providers: [provider("two", "http://127.0.0.1:9")] }),
  });
  await watch.sees("its revision", ({ get }) => {
    const revisions = get({ id: "list_source_revisions", name: "base" })?.value;
    const config = get({ id: "get_config" })?.value;
    return revisions?.length === 2 && config?.sources[0]?.revision === 2;
  });
  const gone = await watch.sees(
    "the provider's end",
    ({ get }) => get({ id: "list_backend_errors", name: "one" })?.failure,
  );
  assert.equal(gone.code, "not_found");
  assert.ok(watch.links.every(({ state }) => state.kind === "online"));
});

test("when the connected node dies, the next one is used and the new leader is reported", async (t) => {
  const nodes = await createNodes(t, { ids: ["n1", "n2", "n3"] });
  await Promise.all(nodes.map(async (node) => node.launch()));
  const leader = await led(nodes[0] ?? assert.fail());
  for (const node of nodes) await led(node);
  const first = nodes.find(({ id }) => id === leader) ?? assert.fail();
  const second = nodes.find(({ id }) => id !== leader) ?? assert.fail();
  await first.client.call("create_key", { body: { name: "watched" } });
  const watch = startWatch(t, [endpointOf(first), endpointOf(second)]);
  const needs = [{ id: "get_status" }, { id: "list_keys" }, { id: "list_cluster_members" }] as const;
  watch.need(needs);
  await watch.sees("all", ({ get }) => needs.every((need) => get(need)?.value !== undefined));
  first.program.signal("SIGKILL");
  await first.program.ended;
  const killedAt = performance.now();
  await eventually(
    "the other door",
    () => watch.link().endpoint.name === second.id && watch.link().state.kind === "online",
  );
  t.diagnostic(`at the other door after ${(performance.now() - killedAt).toFixed(0)} ms`);
  assert.equal(watch.notes[0], `${first.id} does not answer; connected to ${second.id}`);
  await watch.sees("the key, from there", ({ get }) => {
    const { node } = get({ id: "get_status" })?.value ?? {};
    return node === second.id && get({ id: "list_keys" })?.value?.[0]?.name === "watched";
  });
  const answer = await eventually(
    "the new leader",
    () => watch.notes.find((it) => it.startsWith("leader is now")),
    SLOW_MS,
  );
  assert.match(answer, /^leader is now n[123], term \d+$/);
  assert.equal(answer.includes(`now ${first.id},`), false);
});

test("a paused node is noticed, and used again when it resumes", async (t) => {
  const plane = await startPlane(t);
  const watch = startWatch(t, [endpointOf(plane.node)], {
    intervals: { silenceMs: 500, probeMs: 500, backoffMs: [200] },
  });
  watch.need([{ id: "list_keys" }]);
  await watch.sees("keys", ({ get }) => get({ id: "list_keys" })?.value);
  plane.gateway.signal("SIGSTOP");
  try {
    const state = await watch.becomes("offline");
    assert.ok(state.kind === "offline" && state.failure.code === "timeout");
  } finally {
    plane.gateway.signal("SIGCONT");
  }
  await watch.becomes("online");
  await plane.node.client.call("create_key", { body: { name: "after" } });
  await watch.sees("the key", ({ get }) => get({ id: "list_keys" })?.value?.[0]?.name === "after");
});
