/** Lists: blocking reads at no cost while waiting, indexes, consistent reads, and lists of any length. */

import assert from "node:assert/strict";
import { request as httpRequest } from "node:http";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Listing } from "../../../src/admin-api/index.ts";
import { storedValues, watchList } from "../../../src/server/admin/lists.ts";
import type { StateView } from "../../../src/server/cluster/index.ts";
import { member } from "./support/memory-cluster.ts";
import { openAdmin, send } from "./support/open-admin.ts";

test("a list answers its rows with an index, which is its ETag", async (t) => {
  const { client, send: sendHere } = await openAdmin(t);
  await client.call("create_key", { body: { name: "a" } });
  const answer = await sendHere("GET", "/admin/v1/keys");
  const { items, index } = answer.json<Listing<{ name: string }>>();
  assert.deepEqual(
    items.map(({ name }) => name),
    ["a"],
  );
  assert.equal(answer.headers["etag"], `"${index}"`);
});

test("an index grows with each change of its list and with no change of another", async (t) => {
  const { client } = await openAdmin(t);
  const first = await client.call("list_keys");
  await client.call("put_secret", { params: { name: "s" }, body: { value: "v" } });
  assert.equal((await client.call("list_keys")).index, first.index);
  await client.call("create_key", { body: { name: "a" } });
  assert.ok((await client.call("list_keys")).index > first.index);
});

test("a blocking read answers once its list has changed, and not on changes of another", async (t) => {
  const { client } = await openAdmin(t);
  const { index } = await client.call("list_suspensions");
  let answered = false;
  const reading = client.call("list_suspensions", { query: { index, wait: "5m" } }).finally(() => {
    answered = true;
  });
  await client.call("create_key", { body: { name: "a" } });
  await client.call("get_whoami");
  assert.equal(answered, false);
  await client.call("put_suspension", { params: { kind: "model", name: "m" }, body: { reason: "x" } });
  const { items, index: next } = await reading;
  assert.deepEqual(
    items.map(({ name }) => name),
    ["m"],
  );
  assert.ok(next > index);
});

test("a read that names an older index answers at once", async (t) => {
  const { client } = await openAdmin(t);
  const { index } = await client.call("list_keys");
  await client.call("create_key", { body: { name: "a" } });
  assert.equal((await client.call("list_keys", { query: { index, wait: "5m" } })).items.length, 1);
  assert.equal((await client.call("list_keys", { query: { index: 0, wait: "5m" } })).items.length, 1);
});

test("a read that names an index of another process answers at once", async (t) => {
  const { client } = await openAdmin(t);
  const { index } = await client.call("list_keys");
  assert.equal((await client.call("list_keys", { query: { index: index + 1_000, wait: "5m" } })).index, index);
});

test("a read whose wait time has passed answers with the current rows", async (t) => {
  const { client } = await openAdmin(t);
  const { index } = await client.call("list_keys");
  assert.deepEqual(await client.call("list_keys", { query: { index, wait: "10ms" } }), { items: [], index });
  assert.deepEqual(await client.call("list_keys", { query: { index, wait: "0s" } }), { items: [], index });
});

test("a consistent read goes through the leader and fails without one", async (t) => {
  const { client, memory } = await openAdmin(t);
  await client.call("list_keys", { query: { consistent: true } });
  memory.failNext("no_leader", "Nobody leads.");
  await client.call("list_keys");
  await assert.rejects(client.call("list_keys", { query: { consistent: true } }), { status: 503, code: "no_leader" });
});

test("the member list changes when the cluster reports a change", async (t) => {
  const { client, memory } = await openAdmin(t);
  const { index, items } = await client.call("list_cluster_members");
  assert.deepEqual(
    items.map(({ id, role }) => [id, role]),
    [
      ["n1", "leader"],
      ["n2", "follower"],
      ["n3", "follower"],
    ],
  );
  const reading = client.call("list_cluster_members", { query: { index, wait: "5m" } });
  await client.call("get_whoami");
  memory.setMembers([member("n2", "leader")]);
  assert.deepEqual(
    (await reading).items.map(({ id }) => id),
    ["n2"],
  );
});

/** A manual list: its rows are its version. */
function countingList() {
  const listeners = new Set<() => void>();
  let version = 0;
  let reads = 0;
  const list = watchList<number>({
    version: () => version,
    watch(onChange) {
      listeners.add(onChange);
      return () => listeners.delete(onChange);
    },
    take() {
      reads += 1;
      const rows = [version];
      return () => rows;
    },
  });
  return {
    list,
    listeners,
    reads: () => reads,
    change(by = 1) {
      version += by;
      for (const listener of [...listeners]) listener();
    },
  };
}

test("a long table is read in slices, restarted when a row changes, and complete at the end", async () => {
  const rows = new Map(Array.from({ length: 200_000 }, (_, at) => [`key/${String(at).padStart(6, "0")}`, `${at}`]));
  let version = 0;
  let walks = 0;
  const view: StateView = {
    appliedIndex: 0,
    get: (key) => rows.get(key),
    *scan() {
      walks += 1;
      const begun = version;
      for (const row of [...rows]) {
        assert.equal(version, begun, "a walk went on over rows that had changed");
        // Slow enough to need more than one turn on any machine.
        for (let spin = 0; spin < 100; spin++) Math.imul(spin, spin);
        yield row;
      }
    },
    version: () => version,
    watch: () => () => {},
  };
  const reading = storedValues(view, "key/");
  await turn();
  rows.set("key/000000", "changed");
  version += 1;
  const values = await reading;
  assert.equal(values.length, 200_000);
  assert.equal(values[0], "changed");
  assert.equal(walks, 2);
});

test("a table that changes constantly is still read", async () => {
  let version = 0;
  let walks = 0;
  const view: StateView = {
    appliedIndex: 0,
    get: () => undefined,
    *scan() {
      walks += 1;
      const end = performance.now() + 30;
      // More rows than one turn reads, even if another process has the core meanwhile.
      for (let row = 0; row < 20_000 || performance.now() < end; row += 1) yield ["key/a", "a"];
    },
    version: () => version++,
    watch: () => () => {},
  };
  assert.ok((await storedValues(view, "key/")).length > 0);
  assert.equal(walks, 4);
});

/** The signal of a reader that does not disconnect. */
const staying = (): AbortSignal => new AbortController().signal;

test("a list has one listener for any number of waiting readers, and reads nothing meanwhile", async () => {
  const { list, listeners, reads, change } = countingList();
  const waiting = Array.from({ length: 1_000 }, () =>
    list.read({ index: 1, waitMs: 60_000, signal: staying() }, () => 0),
  );
  await turn();
  assert.equal(list.waiting, 1_000);
  assert.equal(listeners.size, 1);
  change(0); // notified without a change
  await turn();
  assert.equal(list.waiting, 1_000);
  assert.equal(reads(), 0);
  change();
  const answers = await Promise.all(waiting);
  assert.ok(answers.every(({ index }) => index === 2));
  assert.equal(reads(), 1, "taken once for all who were woken");
  assert.equal(list.waiting, 0);
  list.close();
  assert.equal(listeners.size, 0);
});

test("nothing is kept for a reader that has disconnected", async () => {
  const { list } = countingList();
  const leaving = new AbortController();
  const reading = list.read({ index: 1, waitMs: 60_000, signal: leaving.signal }, () => 0);
  assert.equal(list.waiting, 1);
  leaving.abort(new Error("gone"));
  await assert.rejects(reading, /gone/);
  assert.equal(list.waiting, 0);
});

test("a closed list answers at once", async () => {
  const { list } = countingList();
  const reading = list.read({ index: 1, waitMs: 60_000, signal: staying() }, () => 0);
  list.close();
  assert.equal((await reading).index, 1);
  assert.equal((await list.read({ index: 1, waitMs: 60_000, signal: staying() }, () => 0)).index, 1);
});

/** Limit of the CPU time in which a thousand connections must be ready, in milliseconds. */
const MAX_SETUP_CPU_MS = 10_000;

test("a thousand readers wait on the socket at no cost, and one change answers all", async (t) => {
  const { client, path, memory } = await openAdmin(t);
  const { index } = await client.call("list_keys");
  const watchers = memory.watchers;
  let open = 0;
  const readings = Array.from(
    { length: 1_000 },
    () =>
      new Promise<Listing<unknown>>((resolve, reject) => {
        const request = httpRequest({ socketPath: path, path: `/admin/v1/keys?index=${index}&wait=5m`, agent: false });
        request.on("error", reject);
        request.on("finish", () => {
          open += 1;
        });
        request.on("response", (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (part) => {
            text += part;
          });
          response.on("end", () => resolve(JSON.parse(text)));
        });
        request.end();
      }),
  );
  while (open < 1_000) await turn();
  // A thousand connections are accepted before a later one is answered.
  for (let count = 0; count < 20; count++) await client.call("get_whoami");
  assert.equal(memory.watchers, watchers);

  // The first windows still pay for a thousand connections, about a second of CPU, which a busy machine grants slowly.
  const shares: number[] = [];
  let cpuMs = 0;
  while (cpuMs < MAX_SETUP_CPU_MS && (shares.at(-1) ?? 1) >= 0.1) {
    const before = process.cpuUsage();
    const started = performance.now();
    await client.call("list_suspensions", { query: { index: 1, wait: "200ms" } });
    const { user, system } = process.cpuUsage(before);
    const spentMs = (user + system) / 1_000;
    cpuMs += spentMs;
    shares.push(spentMs / (performance.now() - started));
  }
  assert.ok((shares.at(-1) ?? 1) < 0.1, `shares of a processor while nothing happened: ${shares.join(", ")}`);

  await client.call("create_key", { body: { name: "a" } });
  const answers = await Promise.all(readings);
  assert.ok(answers.every(({ items }) => items.length === 1));
});

test("a hundred thousand keys are answered in full without blocking the event loop", async (t) => {
  const { client, memory, path } = await openAdmin(t);
  const digest = "0".repeat(64);
  const base = { profile: null, metadata: {}, digest, expires_in_ms: null };
  const write = { by: { iss: "local", sub: "unix:0" }, timeoutMs: 1_000 };
  for (let count = 0; count < 100_000; count++) {
    const id = String(count).padStart(8, "0");
    await memory.cluster.write({ t: "key.create", p: { ...base, id, name: `key-${id}` } }, write);
  }
  const scanStarted = performance.now();
  let rows = 0;
  for (const _ of memory.cluster.view.scan("key/")) rows += 1;
  const scanMs = performance.now() - scanStarted;
  assert.equal(rows, 100_000);

  // The best of several answers, since another process may hold the core for longer than a turn.
  let longest = Number.POSITIVE_INFINITY;
  for (let time = 0; time < 5 && longest >= 150; time += 1) {
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const { text, status } = await send(path, "GET", "/admin/v1/keys");
    delay.disable();
    assert.equal(status, 200);
    assert.equal(JSON.parse(text).items.length, 100_000);
    longest = Math.min(longest, delay.max / 1e6);
    t.diagnostic(`scan ${scanMs.toFixed(1)} ms, longest turn ${longest.toFixed(1)} ms, ${text.length} characters`);
  }
  assert.ok(longest < 150, `a turn of ${longest} ms`);
  assert.equal((await client.call("get_whoami")).issuer, "local");
});
