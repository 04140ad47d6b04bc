/** Providers and models as lists: suspensions over measurements, and the events that change the lists. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { rfc3339 } from "../../../src/server/admin/handler-types.ts";
import { backendHandlers, backendList } from "../../../src/server/admin/handlers/backends.ts";
import { modelList } from "../../../src/server/admin/handlers/models.ts";
import { watchList } from "../../../src/server/admin/lists.ts";
import { commands } from "../../../src/server/core/state/index.ts";
import { callOf, handlerPorts, NOW } from "./support/handler-ports.ts";
import { backendMember, createMemoryBackends, FAILED } from "./support/memory-backends.ts";

const AT_ONCE = { index: undefined, waitMs: 0, signal: new AbortController().signal };
const WRITE = { by: { iss: "local", sub: "unix:1000" }, timeoutMs: 1_000 };

function open() {
  const memory = createMemoryBackends();
  const ports = handlerPorts({ backends: memory.backends });
  const list = watchList(backendList(ports));
  return {
    ...memory,
    ports,
    list,
    async rows(now = NOW) {
      return [...(await list.read(AT_ONCE, () => now)).rows];
    },
    index: async () => (await list.read(AT_ONCE, () => NOW)).index,
    async suspend(name: string, duration_ms: number | null) {
      await ports.cluster.write(commands.suspensionPut({ kind: "provider", name, reason: "r", duration_ms }), WRITE);
    },
  };
}

test("a suspended provider is shown as suspended until its suspension ends, whatever its health", async () => {
  const { configure, measure, suspend, rows } = open();
  configure("a", "b");
  measure("a", { state: "failing", error_ratio: 1 });
  await suspend("a", 60_000);
  await suspend("b", null);
  const states = async (now: number) => (await rows(now)).map((row) => [row.state, row.suspended_until]);
  const until = rfc3339(NOW + 60_000);
  assert.deepEqual(await states(NOW), [
    ["suspended", until],
    ["suspended", null],
  ]);
  assert.deepEqual((await states(NOW + 59_999))[0], ["suspended", until]);
  assert.deepEqual(await states(NOW + 60_000), [
    ["failing", null],
    ["suspended", null],
  ]);
});

test("a suspension of another kind with the same name does not concern the provider", async () => {
  const { configure, ports, rows } = open();
  configure("a");
  const key = commands.suspensionPut({ kind: "key", name: "a", reason: "r", duration_ms: null });
  await ports.cluster.write(key, WRITE);
  assert.equal((await rows())[0]?.state, "idle");
});

test("the provider list changes with configuration, health and suspensions", async () => {
  const { configure, measure, suspend, index } = open();
  const seen = [await index()];
  configure("a");
  seen.push(await index());
  measure("a", { rate: 1 });
  seen.push(await index());
  await suspend("a", null);
  seen.push(await index());
  assert.deepEqual(
    seen,
    [...new Set(seen)].toSorted((a, b) => a - b),
  );
  assert.equal(await index(), seen.at(-1));
});

test("a closed list has no listeners left", async () => {
  const { configure, list, index } = open();
  list.close();
  const before = await index();
  configure("a");
  assert.equal(await index(), before);
});

test("the model list changes with the configuration and not with health", async () => {
  const { configure, measure, ports } = open();
  const list = watchList(modelList(ports));
  configure("a");
  const { index, rows } = await list.read(AT_ONCE, () => NOW);
  assert.deepEqual(
    [...rows].map((row) => row.model),
    ["a-*"],
  );
  measure("a", { rate: 1 });
  assert.equal((await list.read(AT_ONCE, () => NOW)).index, index);
  configure("b");
  assert.ok((await list.read(AT_ONCE, () => NOW)).index > index);
});

test("the failures of a provider are answered, and an unknown provider is not found", async () => {
  const { configure, fail, ports } = open();
  configure("a");
  const failure = { ...FAILED, time: rfc3339(NOW), status: null, kind: "connect", attempt: 1, moved_to: "b" };
  fail("a", failure);
  const { list_backend_errors: answer } = backendHandlers;
  assert.deepEqual(await answer(callOf("list_backend_errors", { params: { name: "a" } }), ports), {
    value: { items: [{ ...failure, node: "n1" }] },
  });
  await assert.rejects(async () => answer(callOf("list_backend_errors", { params: { name: "x" } }), ports), {
    code: "not_found",
  });
});

test("at most 1,000 members of a pool are answered, with a flag that there are more", async () => {
  const { configure, have, ports } = open();
  configure("a", "b");
  const { list_backend_members: answer } = backendHandlers;
  const ask = (name: string, query = {}) => answer(callOf("list_backend_members", { params: { name }, query }), ports);
  assert.deepEqual(await ask("a"), { value: { items: [] } });
  const all = Array.from({ length: 1_001 }, (_, at) => backendMember(`192.0.2.${at}:8000`));
  have("a", all.slice(1));
  assert.deepEqual(await ask("a"), { value: { items: all.slice(1).map((it) => ({ ...it, node: "n1" })) } });
  have("a", all);
  for (const query of [{}, { nodes: "all" }]) {
    const { items, cut } = (await ask("a", query)).value;
    assert.deepEqual([items.length, cut], [1_000, ["n1"]]);
  }
  await assert.rejects(async () => ask("x"), { code: "not_found" });
});
