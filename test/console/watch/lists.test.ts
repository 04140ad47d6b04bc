/** Lists kept by blocking reads, with a peer that acts like a gateway or incorrectly. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Data } from "../../../src/console/model/data.ts";
import { eventually } from "../../e2e/support/wait.ts";
import { answer, createLists, key, refuse, startPeer, suspension } from "./support/peer.ts";
import { QUICK, startWatch } from "./support/watching.ts";

const SUSPENSIONS = { id: "list_suspensions" } as const;
const KEYS = { id: "list_keys" } as const;
const namesIn = (data: Data) =>
  data
    .get(SUSPENSIONS)
    ?.value?.map(({ name }) => name)
    .join();

test("a list is read completely, then by blocking reads with its index", async (t) => {
  const lists = createLists();
  lists.set("suspensions", [suspension("one")]);
  const peer = await startPeer(t, "a", lists.handler);
  const watch = startWatch(t, [peer.endpoint], { intervals: QUICK });
  watch.need([SUSPENSIONS]);
  await watch.sees("the first row", (data) => namesIn(data) === "one");
  await eventually("a blocking read", () => lists.waiting === 1);
  lists.set("suspensions", [suspension("one"), suspension("two")]);
  await watch.sees("the second row", (data) => namesIn(data) === "one,two");
  await eventually("the next blocking read", () => lists.waiting === 1);
  assert.deepEqual(
    peer.received.map(({ path }) => path),
    ["/status", "/suspensions", "/suspensions?index=101&wait=30s", "/suspensions?index=102&wait=30s"],
  );
  assert.equal(watch.link().state.kind, "online");
});

test("unchanged rows keep their identity at any position, and so does an unchanged list", async (t) => {
  const lists = createLists();
  lists.set("keys", [key(1), key(2), key(3)]);
  const peer = await startPeer(t, "a", lists.handler);
  const watch = startWatch(t, [peer.endpoint], { intervals: QUICK });
  watch.need([KEYS]);
  const [first, second, third] = await watch.sees("keys", (data) => data.get(KEYS)?.value);
  await eventually("a blocking read", () => lists.waiting === 1);
  lists.set("keys", [key(0), key(1), key(2, "2026-01-02T00:00:00.000Z"), key(3)]);
  const changed = await watch.sees("four keys", ({ get }) => get(KEYS)?.value?.length === 4 && get(KEYS));
  assert.equal(changed.value?.[1], first);
  assert.notEqual(changed.value?.[2], second);
  assert.equal(changed.value?.[3], third);
  await eventually("a blocking read", () => lists.waiting === 1);
  lists.set("keys", [key(0), key(1), key(2, "2026-01-02T00:00:00.000Z"), key(3)]);
  const fresher = await watch.sees("a fresher answer", ({ get }) => {
    const reading = get(KEYS);
    return reading !== changed && peer.count("/keys") >= 4 && reading;
  });
  assert.equal(fresher.value, changed.value);
  assert.ok((fresher.freshAt ?? 0) >= (changed.freshAt ?? 0));
});

test("an index that decreases is not sent", async (t) => {
  const lists = createLists();
  lists.set("suspensions", [suspension("one")]);
  const peer = await startPeer(t, "a", lists.handler);
  const watch = startWatch(t, [peer.endpoint], { intervals: QUICK });
  watch.need([SUSPENSIONS]);
  await eventually("a blocking read", () => lists.waiting === 1);
  lists.base = 10;
  lists.set("suspensions", [suspension("other")]);
  await watch.sees("the other row", (data) => namesIn(data) === "other");
  await eventually("a blocking read", () => lists.waiting === 1);
  assert.deepEqual(peer.received.map(({ path }) => path).slice(2), [
    "/suspensions?index=101&wait=30s",
    "/suspensions",
    "/suspensions?index=12&wait=30s",
  ]);
});

test("a constantly changing list is read no more often than the minimum pause allows", async (t) => {
  let index = 0;
  const peer = await startPeer(t, "a", (path, response) => {
    index += 1;
    answer(response, path === "/status" ? {} : { items: [suspension(`s${index}`)], index });
  });
  const watch = startWatch(t, [peer.endpoint], { intervals: { pauseMs: 50 } });
  watch.need([SUSPENSIONS]);
  await eventually("ten reads", () => peer.count("/suspensions") === 10);
  const times = peer.received.filter(({ path }) => path !== "/status").map(({ at }) => at);
  for (const [at, time] of times.entries()) {
    assert.ok(at === 0 || time - (times[at - 1] ?? 0) >= 48, `${times.map((it) => it - (times[0] ?? 0))}`);
  }
});

test("the pause after an answer is ten times its handling time", async (t) => {
  let index = 0;
  const items = Array.from({ length: 20_000 }, (_, at) => key(at));
  const peer = await startPeer(t, "a", (path, response) => {
    index += 1;
    answer(response, path === "/status" ? {} : { items, index });
  });
  const watch = startWatch(t, [peer.endpoint], { intervals: { pauseMs: 0 } });
  watch.need([KEYS]);
  await eventually("three reads", () => peer.count("/keys") === 3);
  const [, second = 0, third = 0] = peer.received.filter(({ path }) => path !== "/status").map(({ at }) => at);
  const before = performance.now();
  JSON.parse(JSON.stringify({ items }));
  t.diagnostic(`between reads ${third - second} ms; a parse and its writing ${performance.now() - before} ms`);
  // Parsing this takes over ten milliseconds on any machine.
  assert.ok(third - second > 100, `${third - second} ms`);
});

const GARBAGE: Readonly<Record<string, string>> = {
  "no JSON": "<html>",
  "an array": "[]",
  "no items": '{"index":1}',
  "items that are not a list": '{"items":5,"index":1}',
  "rows that are not objects": '{"items":[1,null],"index":1}',
  "rows of another table": '{"items":[{"name":"x"}],"index":1}',
  "no index": '{"items":[]}',
  "an invalid index": '{"items":[],"index":-1.5}',
  "endless nesting": `{"items":${"[".repeat(100_000)}${"]".repeat(100_000)},"index":1}`,
};

for (const [what, body] of Object.entries(GARBAGE)) {
  test(`an answer with ${what} is a failure that is retried ever more slowly, and the endpoint stays online`, async (t) => {
    const peer = await startPeer(t, "a", (_, response) => answer(response, body));
    const watch = startWatch(t, [peer.endpoint], { intervals: QUICK });
    watch.need([SUSPENSIONS]);
    const failure = await watch.sees("a failure", (data) => data.get(SUSPENSIONS)?.failure);
    assert.equal(failure.code, "unintelligible");
    assert.equal(watch.link().state.kind, "online");
    await eventually("four reads", () => peer.count("/suspensions") === 4);
    const times = peer.received.filter(({ path }) => path !== "/status").map(({ at }) => at);
    assert.ok((times[3] ?? 0) - (times[0] ?? 0) >= 30 + 60 + 120 - 3, times.join());
    assert.equal(watch.data.at(-1)?.get(SUSPENSIONS)?.value, undefined);
  });
}

test("a refused read keeps the value and reports the error until the next answer", async (t) => {
  const lists = createLists();
  lists.set("suspensions", [suspension("one")]);
  let isIll = false;
  const peer = await startPeer(t, "a", (path, response, request) => {
    if (isIll && path !== "/status") refuse(response, 500, "internal");
    else lists.handler(path, response, request);
  });
  const watch = startWatch(t, [peer.endpoint], { intervals: QUICK });
  watch.need([SUSPENSIONS]);
  await eventually("a blocking read", () => lists.waiting === 1);
  isIll = true;
  lists.set("suspensions", [suspension("two")]);
  const failed = await watch.sees("the refusal", ({ get }) => get(SUSPENSIONS)?.failure && get(SUSPENSIONS));
  assert.equal(failed.failure?.code, "internal");
  assert.equal(failed.failure?.status, 500);
  assert.deepEqual(failed.value, [suspension("two")]);
  assert.equal(watch.link().state.kind, "online");
  isIll = false;
  await watch.sees("an answer", ({ get }) => get(SUSPENSIONS)?.failure === undefined);
});

test("a forbidden read is not repeated until the operator refreshes", async (t) => {
  const lists = createLists();
  let isForbidden = true;
  const peer = await startPeer(t, "a", (path, response, request) => {
    if (isForbidden && path === "/keys") refuse(response, 403, "forbidden");
    else lists.handler(path, response, request);
  });
  const watch = startWatch(t, [peer.endpoint], { intervals: QUICK });
  watch.need([KEYS, SUSPENSIONS]);
  const failure = await watch.sees("the refusal", (data) => data.get(KEYS)?.failure);
  assert.equal(failure.code, "forbidden");
  for (let at = 0; at < 5; at++) {
    await eventually("a blocking read", () => lists.waiting === 1);
    lists.set("suspensions", [suspension(`s${at}`)]);
    await watch.sees("a change of the other list", (data) => namesIn(data) === `s${at}`);
    // Leaving and returning requests no more than staying.
    watch.need([SUSPENSIONS]);
    watch.need([KEYS, SUSPENSIONS]);
  }
  assert.equal(peer.count("/keys"), 1);
  isForbidden = false;
  watch.refresh();
  await watch.sees("keys", (data) => data.get(KEYS)?.value);
});

test("an unneeded read ends immediately; its value is kept for a while", async (t) => {
  const lists = createLists();
  lists.set("suspensions", [suspension("one")]);
  const peer = await startPeer(t, "a", lists.handler);
  const watch = startWatch(t, [peer.endpoint], { intervals: { ...QUICK, retentionMs: 300 } });
  watch.need([SUSPENSIONS]);
  await eventually("a blocking read", () => lists.waiting === 1);
  watch.need([]);
  await eventually("the end of the read", () => lists.waiting === 0);
  watch.need([KEYS]);
  const kept = await watch.sees("keys", ({ get }) => get(KEYS)?.value !== undefined && get(SUSPENSIONS));
  assert.deepEqual(kept.value, [suspension("one")]);
  watch.need([SUSPENSIONS]);
  await watch.sees(
    "a newer answer",
    ({ get }) => get(SUSPENSIONS)?.value === kept.value && peer.count("/suspensions") > 2,
  );
  watch.need([]);
  await watch.sees("nothing of it", ({ get }) => get(SUSPENSIONS) === undefined && get(KEYS) === undefined);
});

test("while a read blocks, any answer of the endpoint keeps its list fresh", async (t) => {
  const lists = createLists();
  lists.set("suspensions", [suspension("one")]);
  const peer = await startPeer(t, "a", lists.handler);
  const watch = startWatch(t, [peer.endpoint], { intervals: { ...QUICK, silenceMs: 40 } });
  watch.need([SUSPENSIONS]);
  await eventually("a blocking read", () => lists.waiting === 1);
  const before = await watch.sees("a row", ({ get }) => get(SUSPENSIONS)?.value && get(SUSPENSIONS));
  const after = await watch.sees("a fresher one", ({ get }) => {
    const reading = get(SUSPENSIONS);
    return (reading?.freshAt ?? 0) > (before.freshAt ?? 0) + 100 && reading;
  });
  assert.equal(after.value, before.value);
  assert.equal(peer.count("/suspensions"), 2);
  assert.ok(peer.count("/status") > 2);
});

test("data is reported at a limited rate, and unchanged readings keep their identity", async (t) => {
  const lists = createLists();
  const peer = await startPeer(t, "a", lists.handler);
  const watch = startWatch(t, [peer.endpoint], { intervals: { ...QUICK, reportMs: 50, freshnessMs: 10_000 } });
  const times: number[] = [];
  watch.need([SUSPENSIONS, KEYS, { id: "list_models" }, { id: "list_profiles" }, { id: "get_whoami" }]);
  await watch.sees("all", ({ get }) => {
    if (times.length < watch.data.length) times.push(performance.now());
    return get(SUSPENSIONS)?.value && get(KEYS)?.value && get({ id: "get_whoami" })?.value;
  });
  await eventually("blocking reads", () => lists.waiting === 4);
  const before = watch.data.at(-1);
  lists.set("suspensions", [suspension("one")]);
  await watch.sees("the row", (data) => namesIn(data) === "one");
  const after = watch.data.at(-1);
  assert.notEqual(after, before);
  assert.equal(after?.get(KEYS), before?.get(KEYS));
  assert.ok(watch.data.length <= 6, `${watch.data.length} times`);
});
