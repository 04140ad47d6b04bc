/**
 * Blocking reads through a real process: they cost nothing while they wait, and one change answers all. Source: design
 * decisions, section 3 (blocking reads).
 */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { setTimeout as pass } from "node:timers/promises";
import { BASE_PATH, TABLES, type TableName } from "../../../src/admin-api/index.ts";
import { eventually, within } from "../support/wait.ts";
import { type Issuer, startIssuer } from "./support/issuer.ts";
import { type Plane, startPlane } from "./support/plane.ts";
import { cpuSeconds, openDescriptors, residentBytes } from "./support/process.ts";
import { type DoorAddress, exchange, type Received, send } from "./support/send.ts";
import { suiteOwner } from "./support/suite.ts";

const POLICY = `
  permit(principal in Role::"local", action, resource);
  permit(principal in Role::"viewer", action in Action::"read", resource);
`;
const TABLE_NAMES = Object.keys(TABLES) as readonly TableName[];
const LOCAL_READERS = 1_000;
const NETWORK_READERS = 200;

/** Three and a half seconds in all. */
const SLICES = 7;
const SLICE_MS = 500;
/** Maximum share of one processor for all reads together. */
const CPU_SHARE = 0.01;
/** A connection with its request takes some tens of KiB on either side. */
const MEMORY_LIMIT_BYTES = 160 << 20;

interface Read {
  readonly index: number;
  readonly names: readonly string[];
}

const readOf = ({ text }: Received): Read => {
  const { items, index } = JSON.parse(text) as { index: number; items: readonly { readonly name: string }[] };
  return { index, names: items.map(({ name }) => name) };
};

describe("blocking reads", { skip: process.platform !== "linux" && "counts what Linux tells" }, () => {
  const owner = suiteOwner();
  let issuer: Issuer;
  let plane: Plane;
  let token = "";
  before(async () => {
    issuer = await startIssuer(owner);
    plane = await startPlane(owner, { issuer: issuer.url, policy: POLICY });
    token = await issuer.tokenOf("alice", "viewer");
  });

  const suspend = (name: string) =>
    plane.node.client.call("put_suspension", { params: { kind: "model", name }, body: { reason: "r" } });
  const wait = (listener: DoorAddress, index: number, limit: string) =>
    exchange(listener, "GET", `${BASE_PATH}/suspensions?index=${index}&wait=${limit}`, { token });
  const list = (listener: DoorAddress) => exchange(listener, "GET", `${BASE_PATH}/suspensions`, { token });
  const indexNow = async () => (await plane.node.client.call("list_suspensions")).index;

  test("a thousand reads on the socket and two hundred on the network cost no CPU while they wait, and all wake at once", async (t) => {
    const { pid } = plane.gateway;
    await suspend("before");
    const index = await indexNow();
    const descriptors = openDescriptors(pid);
    const plainAt = performance.now();
    await Promise.all([
      ...Array.from({ length: LOCAL_READERS }, () => list(plane.local)),
      ...Array.from({ length: NETWORK_READERS }, () => list(plane.network)),
    ]);
    const plainMs = performance.now() - plainAt;
    await eventually("the descriptors' return", () => openDescriptors(pid) <= descriptors + 10, 30_000);
    const memory = residentBytes(pid);
    const idle = await shareOf(pid);
    const reads = [
      ...Array.from({ length: LOCAL_READERS }, () => wait(plane.local, index, "1m")),
      ...Array.from({ length: NETWORK_READERS }, () => wait(plane.network, index, "1m")),
    ];
    await eventually(
      "all connections",
      () => openDescriptors(pid) >= descriptors + LOCAL_READERS + NETWORK_READERS,
      30_000,
    );
    // The work of accepting the connections ends first.
    await eventually("a process at rest", async () => (await shareOf(pid, 1)) <= CPU_SHARE + idle, 30_000);
    // Garbage from the start is collected now and then; expensive readers would use processor time constantly.
    const shares: number[] = [];
    await eventually(
      "reads that cost nothing",
      async () => {
        const share = await shareOf(pid);
        shares.push(share);
        return share < CPU_SHARE + idle;
      },
      30_000,
    );
    t.diagnostic(`cpu share: ${idle.toFixed(4)} before, ${shares.map((it) => it.toFixed(4))} while they wait`);

    const startedAt = performance.now();
    await suspend("change");
    const answers = await within("all answers", Promise.all(reads), 30_000);
    const tookMs = performance.now() - startedAt;
    const growth = residentBytes(pid) - memory;
    const took = `all answered after ${tookMs.toFixed(0)} ms, as many plain reads after ${plainMs.toFixed(0)} ms`;
    t.diagnostic(`${took}, ${(growth / 2 ** 20).toFixed(0)} MiB more`);
    assert.ok(tookMs < 3 * plainMs, took);
    assert.ok(growth < MEMORY_LIMIT_BYTES, `${growth} bytes`);
    for (const answer of answers) {
      assert.equal(answer.status, 200, answer.text);
      const { index: reached, names } = readOf(answer);
      assert.ok(reached > index && names.includes("change"));
    }
    await eventually("the descriptors' return", () => openDescriptors(pid) <= descriptors + 10, 30_000);
  });

  test("readers that disconnect are dropped and leave nothing behind", async () => {
    const { pid } = plane.gateway;
    const index = await indexNow();
    const descriptors = openDescriptors(pid);
    const leaving = new AbortController();
    const reads = Array.from({ length: 500 }, () => {
      const url = `http://127.0.0.1:${plane.network.port}${BASE_PATH}/suspensions?index=${index}&wait=5m`;
      return fetch(url, { headers: { authorization: `Bearer ${token}` }, signal: leaving.signal }).catch(() => "left");
    });
    await eventually("their connections", () => openDescriptors(pid) >= descriptors + 500, 30_000);
    leaving.abort();
    assert.deepEqual(new Set(await Promise.all(reads)), new Set(["left"]));
    await eventually("the descriptors' return", () => openDescriptors(pid) <= descriptors + 10, 30_000);
    await suspend("after");
    assert.ok((await indexNow()) > index);
  });

  test("a blocking read of any table waits for the requested time, and returns at once for a foreign index", async () => {
    await Promise.all(TABLE_NAMES.map((table) => waitsOnlyForItsOwn(plane.local, table)));
  });

  test("a waiting read is answered when the gateway stops", async (t) => {
    const stopping = await startPlane(t, {});
    const { index } = await stopping.node.client.call("list_keys");
    const before = openDescriptors(stopping.gateway.pid);
    const reads = Array.from({ length: 20 }, () =>
      send(stopping.local, "GET", `${BASE_PATH}/keys?index=${index}&wait=5m`),
    );
    await eventually("their connections", () => openDescriptors(stopping.gateway.pid) >= before + 20);
    // Everything sent before has been read.
    await send(stopping.local, "GET", `${BASE_PATH}/whoami`);
    await stopping.node.stop();
    for (const { status } of await Promise.all(reads)) assert.equal(status, 200);
  });
});

async function waitsOnlyForItsOwn(listener: DoorAddress, table: TableName): Promise<void> {
  const read = (query: string) => send(listener, "GET", `${BASE_PATH}/${table}?${query}`);
  const { index } = readOf(await read(""));
  const startedAt = performance.now();
  const waited = readOf(await read(`index=${index}&wait=300ms`));
  const tookMs = performance.now() - startedAt;
  // Only measurements change without a request, and then have a new index; a timer may fire slightly early.
  assert.ok(waited.index > index || (waited.index === index && tookMs >= 290), `${table}: ${tookMs} ms`);
  for (const foreign of [0, index + 1_000_000, Number.MAX_SAFE_INTEGER]) {
    const at = performance.now();
    assert.ok(readOf(await read(`index=${foreign}&wait=5m`)).index >= index);
    assert.ok(performance.now() - at < 5_000, table);
  }
}

/** Median share of one processor over some slices, since a slice can contain a garbage collection or an audit head. */
async function shareOf(pid: number, slices = SLICES): Promise<number> {
  const shares: number[] = [];
  while (shares.length < slices) {
    const [from, startedAt] = [cpuSeconds(pid), performance.now()];
    await pass(SLICE_MS);
    shares.push((cpuSeconds(pid) - from) / ((performance.now() - startedAt) / 1_000));
  }
  return shares.toSorted((a, b) => a - b)[Math.floor(slices / 2)] ?? Number.NaN;
}
