/** Fetches made once for all processes of a node. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FetchedValue } from "../../../../src/base/index.ts";
import { fetchThroughNode, openSharedFetches } from "../../../../src/server/workers/index.ts";
import { eventually } from "../../../e2e/support/wait.ts";
import { openPair, type Pair } from "../support/pair.ts";

interface Fetching {
  readonly by: string;
  readonly give: (what: FetchedValue<string>) => void;
  readonly fail: (error: Error) => void;
}

/** Processes whose fetches the test completes. */
function openNode(...pairs: readonly Pair[]) {
  let now = 1_000;
  const node = openSharedFetches(() => now);
  const fetching: Fetching[] = [];
  const processes = pairs.map((pair, at) => {
    const by = String(at);
    const leave = node.serve(pair.node);
    const share = fetchThroughNode(pair.worker);
    return {
      leave,
      fetch: (key: string, after = 0) =>
        share<string>(key, after, () => new Promise((give, fail) => fetching.push({ by, give, fail }))),
    };
  });
  const [first, second, third] = processes;
  assert.ok(first !== undefined && second !== undefined);
  return {
    first,
    second,
    third: third ?? first,
    fetching,
    pass: (ms: number) => {
      now += ms;
    },
    begun: async (count: number): Promise<Fetching> => {
      await eventually(`fetch ${count}`, () => fetching.length === count);
      return fetching[count - 1] ?? assert.fail();
    },
  };
}

test("a request during a fetch waits for its result, and a later one gets it with its age", async () => {
  await using one = await openPair();
  await using two = await openPair();
  await using three = await openPair();
  const { first, second, third, begun, fetching, pass } = openNode(one, two, three);
  const mine = first.fetch("k");
  const fetch = await begun(1);
  const waiting = second.fetch("k");
  // Answered after the earlier request.
  const apart = second.fetch("other");
  (await begun(2)).give({ value: "apart", keepMs: 0 });
  assert.equal((await apart).value, "apart");
  pass(30);
  fetch.give({ value: "v", keepMs: 100 });
  assert.deepEqual(await mine, { value: "v", ageMs: 0, number: 1, isOwn: true });
  assert.deepEqual(await waiting, { value: "v", ageMs: 30, number: 1, isOwn: false });
  pass(69);
  assert.deepEqual(await third.fetch("k"), { value: "v", ageMs: 99, number: 1, isOwn: false });
  pass(1);
  const anew = third.fetch("k");
  (await begun(3)).give({ value: "w", keepMs: 100 });
  assert.equal((await anew).value, "w");
  assert.equal(fetching.length, 3);
});

test("a request that has the last result gets a later one, and then so do the others", async () => {
  await using one = await openPair();
  await using two = await openPair();
  const { first, second, begun, fetching } = openNode(one, two);
  const old = first.fetch("k");
  (await begun(1)).give({ value: "refused", keepMs: 10_000 });
  const { number } = await old;
  const next = first.fetch("k", number);
  (await begun(2)).give({ value: "good", keepMs: 10_000 });
  assert.equal((await next).value, "good");
  const other = await second.fetch("k", number);
  assert.deepEqual([other.value, other.isOwn, other.number > number], ["good", false, true]);
  assert.equal(fetching.length, 2);
});

test("a failed fetch is reported to waiting requests and to none after; an earlier result stays", async () => {
  await using one = await openPair();
  await using two = await openPair();
  const { first, second, begun } = openNode(one, two);
  const old = first.fetch("k");
  (await begun(1)).give({ value: "v", keepMs: 10_000 });
  const { number } = await old;
  const renewal = first.fetch("k", number);
  const fetch = await begun(2);
  const waiting = second.fetch("k", number);
  const marker = second.fetch("marker");
  (await begun(3)).give({ value: "", keepMs: 0 });
  await marker;
  fetch.give({ value: "it is down", keepMs: 0 });
  assert.deepEqual([(await renewal).value, (await waiting).value], ["it is down", "it is down"]);
  assert.equal((await second.fetch("k")).value, "v");
  const again = second.fetch("k", number);
  (await begun(4)).give({ value: "w", keepMs: 0 });
  assert.equal((await again).value, "w");
});

test("a waiting request fetches itself when the fetching one throws or is killed", async () => {
  await using one = await openPair();
  await using two = await openPair();
  await using three = await openPair();
  const { first, second, third, begun, fetching } = openNode(one, two, three);
  const failing = assert.rejects(first.fetch("k"), /thrown/);
  const fetch = await begun(1);
  const waiting = second.fetch("k");
  const marker = second.fetch("marker");
  (await begun(2)).give({ value: "", keepMs: 0 });
  await marker;
  fetch.fail(new Error("thrown"));
  await failing;
  await begun(3);
  const last = third.fetch("k");
  const another = third.fetch("marker");
  (await begun(4)).give({ value: "", keepMs: 0 });
  await another;
  second.leave();
  const rescued = await begun(5);
  assert.deepEqual([fetching[2]?.by, rescued.by], ["1", "2"]);
  rescued.give({ value: "v", keepMs: 10_000 });
  assert.equal((await last).value, "v");
  // No request waits for it any more, and its late result is not kept.
  fetching[2]?.give({ value: "late", keepMs: 10_000 });
  await waiting;
  assert.equal((await third.fetch("k")).value, "v");
});

test("a process whose node does not answer fetches for itself", async () => {
  await using pair = await openPair();
  const share = fetchThroughNode(pair.worker);
  await pair.node.close();
  assert.deepEqual(await share("k", 4, async () => ({ value: "v", keepMs: 0 })), {
    ...{ value: "v", ageMs: 0 },
    ...{ number: 5, isOwn: true },
  });
});
