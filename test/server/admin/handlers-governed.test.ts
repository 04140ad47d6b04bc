/** Profiles and budgets as lists: the events that change them, and the number of keys per profile. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { budgetList, profileList } from "../../../src/server/admin/handlers/profiles-and-budgets.ts";
import { watchList } from "../../../src/server/admin/lists.ts";
import { commands } from "../../../src/server/core/state/index.ts";
import { handlerPorts, NOW } from "./support/handler-ports.ts";
import { createMemoryGoverned } from "./support/memory-governed.ts";

const AT_ONCE = { index: undefined, waitMs: 0, signal: new AbortController().signal };
const WRITE = { by: { iss: "local", sub: "unix:1000" }, timeoutMs: 1_000 };

function open() {
  const memory = createMemoryGoverned();
  const ports = handlerPorts({ governance: memory.governed });
  const profiles = watchList(profileList(ports));
  const budgets = watchList(budgetList(ports));
  let minted = 0;
  return {
    ...memory,
    ports,
    profiles,
    budgets,
    profileIndex: async () => (await profiles.read(AT_ONCE, () => NOW)).index,
    budgetIndex: async () => (await budgets.read(AT_ONCE, () => NOW)).index,
    counts: async () =>
      Array.from((await profiles.read(AT_ONCE, () => NOW)).rows, ({ name, keys }) => `${name} ${keys}`),
    async mint(name: string, profile: string | null) {
      minted += 1;
      const id = `key${String(minted).padStart(5, "0")}`;
      const of = { id, name, profile, metadata: {}, digest: "ab".repeat(32), expires_in_ms: null };
      await ports.cluster.write(commands.keyCreate(of), WRITE);
    },
  };
}

test("a profile shows how many keys use it, as keys are minted, changed and deleted", async () => {
  const { configure, mint, counts, ports } = open();
  configure({ profiles: ["batch", "chat"] });
  assert.deepEqual(await counts(), ["batch 0", "chat 0"]);
  await mint("a", "chat");
  await mint("b", "chat");
  await mint("c", null);
  await mint("d", "gone");
  assert.deepEqual(await counts(), ["batch 0", "chat 2"]);
  await ports.cluster.write(commands.keyPatch({ name: "a", profile: "batch" }), WRITE);
  assert.deepEqual(await counts(), ["batch 1", "chat 1"]);
  await ports.cluster.write(commands.keyDelete({ name: "b" }), WRITE);
  assert.deepEqual(await counts(), ["batch 1", "chat 0"]);
});

test("keys are counted once for any number of reads until one of them changes", async () => {
  const { configure, mint, counts, ports } = open();
  configure({ profiles: ["a"] });
  await mint("k", "a");
  let scans = 0;
  const { view } = ports.cluster;
  const counted = watchList(
    profileList({
      ...ports,
      cluster: {
        ...ports.cluster,
        view: {
          appliedIndex: 0,
          get: view.get,
          version: view.version,
          watch: view.watch,
          scan(prefix) {
            scans += 1;
            return view.scan(prefix);
          },
        },
      },
    }),
  );
  const read = async () => [...(await counted.read(AT_ONCE, () => NOW)).rows].map(({ keys }) => keys);
  assert.deepEqual(await Promise.all([read(), read()]), [[1], [1]]);
  configure({ profiles: ["a"] });
  assert.deepEqual([await read(), scans], [[1], 1]);
  await mint("l", "a");
  assert.deepEqual([await read(), scans], [[2], 2]);
  assert.deepEqual(await counts(), ["a 2"]);
});

test("the profile list changes with configuration and keys, and not with spending", async () => {
  const { configure, mint, spend, profileIndex } = open();
  const seen = [await profileIndex()];
  configure({ profiles: ["a"], budgets: ["b"] });
  seen.push(await profileIndex());
  await mint("k", "a");
  seen.push(await profileIndex());
  assert.deepEqual(
    seen,
    [...new Set(seen)].toSorted((a, b) => a - b),
  );
  spend("b", 10);
  assert.equal(await profileIndex(), seen.at(-1));
});

test("the budget list changes with configuration and spending, and not with keys", async () => {
  const { configure, mint, spend, budgetIndex, budgets } = open();
  const seen = [await budgetIndex()];
  configure({ budgets: ["b"] });
  seen.push(await budgetIndex());
  spend("b", 10);
  seen.push(await budgetIndex());
  assert.deepEqual(
    seen,
    [...new Set(seen)].toSorted((a, b) => a - b),
  );
  await mint("k", null);
  assert.equal(await budgetIndex(), seen.at(-1));
  const { rows } = await budgets.read(AT_ONCE, () => NOW);
  assert.deepEqual(
    Array.from(rows, (row) => [row.budget, row.used]),
    [["b", 10]],
  );
});

test("a blocking read is answered when the change happens", async () => {
  const { configure, spend, budgets } = open();
  configure({ budgets: ["b"] });
  const { index } = await budgets.read(AT_ONCE, () => NOW);
  const waiting = budgets.read({ ...AT_ONCE, index, waitMs: 60_000 }, () => NOW);
  spend("b", 1);
  assert.deepEqual(
    Array.from((await waiting).rows, (row) => row.used),
    [1],
  );
});
