/** Gateway addresses that never answer, stop answering, or give invalid answers; and several of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Need } from "../../../src/console/model/data.ts";
import { eventually, within } from "../../e2e/support/wait.ts";
import { createLists, type Handler, type Peer, refuse, startPeer, status, suspension } from "./support/peer.ts";
import { QUICK, startWatch, type Watching } from "./support/watching.ts";

const SUSPENSIONS = { id: "list_suspensions" } as const;
const STATUS = { id: "get_status" } as const;
const WHOAMI = { id: "get_whoami" } as const;
const USUAL: readonly Need[] = [
  STATUS,
  WHOAMI,
  { id: "get_config" },
  SUSPENSIONS,
  { id: "list_keys" },
  { id: "list_backends" },
  { id: "list_budgets" },
  { id: "list_cluster_members" },
];

/** Accepts and never answers. */
const hang: Handler = () => undefined;
const hangUp: Handler = (_path, _response, request) => request.socket.destroy();
function refuseAll(code: number, word: string): Handler {
  return (_path, response) => refuse(response, code, word);
}

/** Milliseconds between the requests to the peer. */
const gapsOf = ({ received }: Peer) => received.slice(1).map(({ at }, before) => at - (received[before]?.at ?? 0));

test("an endpoint is connecting until its first answer, then online", async (t) => {
  const lists = createLists();
  const peer = await startPeer(t, "a", lists.handler);
  const watch = startWatch(t, [peer.endpoint], { intervals: QUICK });
  assert.equal(watch.link().state.kind, "connecting");
  assert.deepEqual([watch.link().endpoint, watch.link().endpoints], [peer.endpoint, 1]);
  await watch.becomes("online");
  assert.deepEqual(
    watch.links.map(({ state }) => state.kind),
    ["online"],
  );
});

test("an endpoint that closes each connection is offline, and is retried one call at a time within the longest wait", async (t) => {
  const peer = await startPeer(t, "a", hangUp);
  const watch = startWatch(t, [peer.endpoint], { intervals: QUICK });
  watch.need(USUAL);
  const state = await watch.becomes("offline");
  assert.ok(state.kind === "offline");
  assert.deepEqual([state.failure.status, state.failure.code], [0, "unreachable"]);
  assert.ok(state.retryAt - state.since >= QUICK.reconnectMs[0]);
  await eventually("seven tries", () => peer.received.length === 7);
  assert.deepEqual(new Set(peer.received.map(({ path }) => path)), new Set(["/status"]));
  for (const [at, least] of [30, 60, 90, 90, 90, 90].entries()) {
    assert.ok((gapsOf(peer)[at] ?? 0) >= least - 2, gapsOf(peer).join());
  }
  const sinces = watch.links.map((link) => link.state.kind === "offline" && link.state.since);
  assert.equal(new Set(sinces).size, 1);
});

test("an endpoint that answers 500 to everything is online, and each read backs off", async (t) => {
  const peer = await startPeer(t, "a", refuseAll(500, "internal"));
  const watch = startWatch(t, [peer.endpoint], { intervals: QUICK });
  watch.need(USUAL);
  await watch.becomes("online");
  await eventually("five reads", () => peer.count("/keys") === 5);
  const times = peer.received.filter(({ path }) => path === "/keys").map(({ at }) => at);
  assert.ok((times[4] ?? 0) - (times[0] ?? 0) >= 30 + 60 + 120 + 240 - 4, times.join());
  assert.ok(peer.received.length <= 6 * USUAL.length + 2, `${peer.received.length} requests`);
  assert.equal(watch.data.at(-1)?.get(STATUS)?.failure?.code, "internal");
});

test("a 503 without a leader counts as an answer", async (t) => {
  const peer = await startPeer(t, "a", refuseAll(503, "no_leader"));
  const watch = startWatch(t, [peer.endpoint], { intervals: QUICK });
  watch.need([SUSPENSIONS]);
  const failure = await watch.sees("a failure", (data) => data.get(SUSPENSIONS)?.failure);
  assert.equal(failure.code, "no_leader");
  assert.equal(watch.link().state.kind, "online");
});

test("after a 401 nothing is read until the operator refreshes, and values stay", async (t) => {
  const lists = createLists();
  let isSignedOut = false;
  const peer = await startPeer(t, "a", (path, response, request) => {
    if (isSignedOut) refuse(response, 401, "unauthenticated");
    else lists.handler(path, response, request);
  });
  const watch = startWatch(t, [peer.endpoint], { intervals: QUICK });
  lists.set("suspensions", [suspension("one")]);
  watch.need([SUSPENSIONS, STATUS]);
  await watch.sees("both", ({ get }) => get(SUSPENSIONS)?.value && get(STATUS)?.value);
  isSignedOut = true;
  const state = await watch.becomes("signed_out");
  assert.ok(state.kind === "signed_out" && state.failure.status === 401);
  await eventually("the end of the blocking read", () => lists.waiting === 0);
  const before = peer.received.length;
  watch.need([SUSPENSIONS, STATUS, WHOAMI]);
  await watch.sees("the new need", ({ get }) => get(WHOAMI) !== undefined);
  assert.equal(peer.received.length, before);
  assert.deepEqual(watch.data.at(-1)?.get(SUSPENSIONS)?.value, [suspension("one")]);
  watch.refresh();
  await eventually("one try", () => watch.links.filter(({ state }) => state.kind === "signed_out").length === 2);
  assert.equal(peer.received.length, before + 1);
  isSignedOut = false;
  watch.refresh();
  await watch.becomes("online");
  await watch.sees("who asks", ({ get }) => get(WHOAMI)?.value);
});

test("a hanging endpoint is noticed by a probe, and read again once it answers", async (t) => {
  const lists = createLists();
  lists.set("suspensions", [suspension("one")]);
  const peer = await startPeer(t, "a", lists.handler);
  const watch = startWatch(t, [peer.endpoint], { intervals: { ...QUICK, silenceMs: 80, probeMs: 60 } });
  watch.need([SUSPENSIONS]);
  await eventually("a blocking read", () => lists.waiting === 1);
  peer.handler = hang;
  const state = await watch.becomes("offline");
  assert.ok(state.kind === "offline" && state.failure.code === "timeout");
  assert.deepEqual(watch.data.at(-1)?.get(SUSPENSIONS)?.value, [suspension("one")]);
  await eventually("the end of the blocking read", () => lists.waiting === 0);
  peer.handler = lists.handler;
  await watch.becomes("online");
  await eventually("a blocking read", () => lists.waiting === 1);
  const plain = peer.received.findLast(({ path }) => !path.includes("index") && path !== "/status");
  assert.equal(plain?.path, "/suspensions");
});

test("a node is found within 3 s of its return", async (t) => {
  const lists = createLists();
  const peer = await startPeer(t, "a", lists.handler);
  const watch = startWatch(t, [peer.endpoint]);
  watch.need([SUSPENSIONS]);
  await eventually("a blocking read", () => lists.waiting === 1);
  await peer.fall();
  await watch.becomes("offline");
  // By now the waits have their maximum length.
  await eventually("tries in vain", () => watch.links.filter(({ state }) => state.kind === "offline").length >= 3);
  await peer.rise();
  const returnedAt = performance.now();
  await watch.becomes("online");
  const tookMs = performance.now() - returnedAt;
  assert.ok(tookMs < 3_000, `${tookMs} ms`);
});

test("a refresh while offline tries at once", async (t) => {
  const lists = createLists();
  const peer = await startPeer(t, "a", hangUp);
  const watch = startWatch(t, [peer.endpoint], { intervals: { reconnectMs: [60_000] } });
  watch.need([STATUS]);
  await watch.becomes("offline");
  peer.handler = lists.handler;
  watch.refresh();
  await watch.becomes("online");
  await watch.sees("the status", ({ get }) => get(STATUS)?.value);
});

test("a broken read at an answering endpoint fails only that read", async (t) => {
  const lists = createLists();
  const peer = await startPeer(t, "a", (path, response, request) => {
    if (path === "/keys") response.writeHead(200).write("{", () => request.socket.destroy());
    else lists.handler(path, response, request);
  });
  const watch = startWatch(t, [peer.endpoint], { intervals: QUICK });
  watch.need([SUSPENSIONS, { id: "list_keys" }]);
  const failure = await watch.sees("a failure", ({ get }) => get({ id: "list_keys" })?.failure);
  assert.deepEqual([failure.status, failure.code], [0, "unreachable"]);
  await eventually("four reads", () => peer.count("/keys") === 4);
  const times = peer.received.filter(({ path }) => path === "/keys").map(({ at }) => at);
  assert.ok((times[3] ?? 0) - (times[0] ?? 0) >= 30 + 60 + 120 - 3, times.join());
  assert.equal(peer.count("/suspensions"), 2);
  assert.deepEqual(
    watch.links.map(({ state }) => state.kind),
    ["online"],
  );
});

test("an endless answer is abandoned", async (t) => {
  const lists = createLists();
  const peer = await startPeer(t, "a", (path, response, request) => {
    if (path === "/keys") response.writeHead(200).write("{");
    else lists.handler(path, response, request);
  });
  const watch = startWatch(t, [peer.endpoint], { intervals: { ...QUICK, bodyMs: 50 } });
  watch.need([{ id: "list_keys" }]);
  const failure = await watch.sees("a failure", ({ get }) => get({ id: "list_keys" })?.failure);
  assert.equal(failure.code, "timeout");
});

test("a new process behind the endpoint is read from the start", async (t) => {
  const lists = createLists();
  const peer = await startPeer(t, "a", lists.handler);
  const watch = startWatch(t, [peer.endpoint], { intervals: { ...QUICK, silenceMs: 60 } });
  watch.need([SUSPENSIONS]);
  await eventually("a blocking read", () => lists.waiting === 1);
  lists.status = status({ startedAt: "b" });
  const plainReads = () => peer.received.filter(({ path }) => path === "/suspensions").length;
  await eventually("a read without an index", () => plainReads() === 2);
  assert.deepEqual(
    watch.links.map(({ state }) => state.kind),
    ["online"],
  );
});

test("when an endpoint dies, the next is used immediately and the old connections are closed", async (t) => {
  const [one, two] = [createLists(), createLists()];
  two.set("suspensions", [suspension("at two")]);
  const peers = [await startPeer(t, "n1", one.handler), await startPeer(t, "n2", two.handler)] as const;
  const watch = startWatch(t, [peers[0].endpoint, peers[1].endpoint], { intervals: QUICK });
  watch.need([SUSPENSIONS]);
  await eventually("a blocking read", () => one.waiting === 1);
  const before = watch.client();
  peers[0].handler = hangUp;
  one.set("suspensions", []);
  await eventually("the other door", () => watch.link().endpoint === peers[1].endpoint);
  await watch.sees("its row", ({ get }) => get(SUSPENSIONS)?.value?.[0]?.name === "at two");
  assert.deepEqual(watch.notes, ["n1 does not answer; connected to n2"]);
  assert.notEqual(watch.client(), before);
  await eventually("no connection", () => peers[0].connections === 0);
  assert.ok(watch.links.every(({ state }) => state.kind !== "offline"));
});

test("when the first endpoint is dead from the start, the next that answers is used", async (t) => {
  const lists = createLists();
  const dead = await startPeer(t, "n1", hangUp);
  const sick = await startPeer(t, "n2", hang);
  const valid = await startPeer(t, "n3", lists.handler);
  // A working address answers within milliseconds; on a busy machine within ten times as many.
  const endpoints = [dead.endpoint, sick.endpoint, valid.endpoint] as const;
  const watch = startWatch(t, endpoints, { intervals: { ...QUICK, probeMs: 1_000 } });
  await watch.becomes("online");
  assert.equal(watch.link().endpoint, valid.endpoint);
  assert.deepEqual(watch.notes, ["n1 does not answer; connected to n3"]);
  assert.equal(dead.received.length, 1);
});

test("when no endpoint answers, all are tried in order in each round", async (t) => {
  const lists = createLists();
  const peers = [await startPeer(t, "n1", lists.handler), await startPeer(t, "n2", lists.handler)] as const;
  const watch = startWatch(t, [peers[0].endpoint, peers[1].endpoint], { intervals: QUICK });
  await watch.becomes("online");
  watch.nextEndpoint();
  await eventually(
    "the second door",
    () => watch.link().endpoint === peers[1].endpoint && watch.link().state.kind === "online",
  );
  assert.deepEqual(watch.notes, ["connected to n2"]);
  for (const peer of peers) peer.handler = hangUp;
  watch.need([STATUS]);
  await watch.becomes("offline");
  const marks = peers.map(({ received }) => received.length);
  await eventually("three rounds", () => peers.every(({ received }, at) => received.length >= (marks[at] ?? 0) + 3));
  const rounds = peers
    .flatMap(({ received, endpoint: { name } }, at) => received.slice(marks[at]).map((it) => ({ at: it.at, name })))
    .sort((a, b) => a.at - b.at)
    .map(({ name }) => name);
  assert.equal(rounds.slice(0, 6).join(), "n1,n2,n1,n2,n1,n2");
  assert.equal(watch.link().endpoint, peers[1].endpoint);
  peers[0].handler = lists.handler;
  await watch.becomes("online");
  assert.equal(watch.link().endpoint, peers[0].endpoint);
  assert.equal(watch.notes.at(-1), "n2 does not answer; connected to n1");
});

test("two failing endpoints do not alternate without a wait", async (t) => {
  const once = (): Handler => {
    let count = 0;
    return (path, response, request) => {
      count += 1;
      if (count % 2 === 1) createLists().handler(path, response, request);
      else request.socket.destroy();
    };
  };
  const peers = [await startPeer(t, "n1", once()), await startPeer(t, "n2", once())] as const;
  const watch = startWatch(t, [peers[0].endpoint, peers[1].endpoint], { intervals: QUICK });
  watch.need([SUSPENSIONS]);
  const startedAt = performance.now();
  const total = (): number => peers.reduce((sum, { received }) => sum + received.length, 0);
  await eventually("thirty requests", () => total() >= 30);
  const tookMs = performance.now() - startedAt;
  assert.ok(tookMs >= 30 + 60 + 90 + 90, `thirty requests within ${tookMs} ms`);
});

test("the operator switches endpoints, and stays if no other answers", async (t) => {
  const lists = createLists();
  const valid = await startPeer(t, "n1", lists.handler);
  const dead = await startPeer(t, "n2", hangUp);
  const watch = startWatch(t, [valid.endpoint, dead.endpoint], { intervals: QUICK });
  watch.need([SUSPENSIONS]);
  await eventually("a blocking read", () => lists.waiting === 1);
  watch.nextEndpoint();
  await eventually("a word", () => watch.notes.length > 0);
  assert.deepEqual(watch.notes, ["no other gateway answers; still connected to n1"]);
  await eventually("a blocking read", () => lists.waiting === 1);
  assert.equal(watch.link().state.kind, "online");
  const alone = startWatch(t, [valid.endpoint], { intervals: QUICK });
  await alone.becomes("online");
  alone.nextEndpoint();
  assert.deepEqual(alone.notes, ["only one gateway is configured"]);
});

test("a read that one endpoint forbids is tried at the next", async (t) => {
  const lists = createLists();
  const strict = await startPeer(t, "n1", (path, response, request) =>
    path === "/suspensions" ? refuse(response, 403, "forbidden") : lists.handler(path, response, request),
  );
  const lenient = await startPeer(t, "n2", lists.handler);
  const watch = startWatch(t, [strict.endpoint, lenient.endpoint], { intervals: QUICK });
  watch.need([SUSPENSIONS]);
  await watch.sees("the refusal", ({ get }) => get(SUSPENSIONS)?.failure?.code === "forbidden");
  watch.nextEndpoint();
  await watch.sees("the list", ({ get }) => get(SUSPENSIONS)?.value);
});

for (const [what, handler] of Object.entries({ "that hang": hang, "that answer": createLists().handler })) {
  test(`closing ends reads at endpoints ${what}, and scrapes, within a second`, async (t) => {
    const peer = await startPeer(t, "a", handler);
    const scrape = (): Promise<string> => new Promise(() => undefined);
    const stop = new AbortController();
    const options = { intervals: QUICK, metricsUrl: "http://127.0.0.1:9/metrics", scrape, signal: stop.signal };
    const watch = startWatch(t, [peer.endpoint], options);
    watch.need([...USUAL, { id: "metrics" }]);
    await eventually("requests", () => peer.received.length >= (handler === hang ? 1 : USUAL.length));
    const earlierCount = watch.data.length;
    stop.abort();
    await within("the end", watch.close(), 1_000);
    await eventually("no connection", () => peer.connections === 0);
    const countBefore = peer.received.length;
    watch.need([SUSPENSIONS]);
    watch.refresh();
    watch.nextEndpoint();
    await within("the end", watch.close(), 1_000);
    assert.equal(peer.received.length, countBefore);
    assert.ok(watch.data.length <= earlierCount + 1);
  });
}

test("closing works at any moment", async (t) => {
  const handlers: Readonly<Record<string, Handler>> = {
    sound: createLists().handler,
    hang,
    hangUp,
    ill: refuseAll(500, "internal"),
    strict: refuseAll(401, "unauthenticated"),
  };
  const peers = [await startPeer(t, "n1", hang), await startPeer(t, "n2", hang)] as const;
  const turn = fc.record({
    first: fc.constantFrom(...Object.keys(handlers)),
    second: fc.constantFrom(...Object.keys(handlers)),
    calls: fc.array(fc.constantFrom("refresh", "nextEndpoint", "need", "leave"), { maxLength: 4 }),
    requests: fc.nat(6),
  });
  const limits = { probeMs: 10, headMs: 10, silenceMs: 5, retentionMs: 3 };
  const intervals = { ...QUICK, ...limits, pauseMs: 1, backoffMs: [1, 2, 3] } as const;
  const calls = {
    refresh: (watch: Watching) => watch.refresh(),
    nextEndpoint: (watch: Watching) => watch.nextEndpoint(),
    need: (watch: Watching) => watch.need(USUAL),
    leave: (watch: Watching) => watch.need([STATUS]),
  };
  const total = (): number => peers[0].received.length + peers[1].received.length;
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 5 }), async (turns) => {
      const watch = startWatch(t, [peers[0].endpoint, peers[1].endpoint], { intervals });
      for (const { first, second, calls: names, requests } of turns) {
        peers[0].handler = handlers[first] ?? hang;
        peers[1].handler = handlers[second] ?? hang;
        for (const name of names) calls[name](watch);
        const expected = total() + requests;
        // Signed out, it sends no more requests.
        await eventually("requests", () => total() >= expected || watch.link().state.kind === "signed_out");
      }
      await within("the end", watch.close(), 1_000);
      const countBefore = total();
      await eventually("no connection", () => peers.every(({ connections }) => connections === 0));
      // Requests that were in flight to either address: of the ended session, and of the previous one.
      assert.ok(total() <= countBefore + 2 * (USUAL.length + 1), `${total() - countBefore} requests after the end`);
    }),
    { numRuns: 40 },
  );
});

test("a closed watch does not keep the process alive", async (t) => {
  const peer = await startPeer(t, "a", createLists().handler);
  const timers = (): number => process.getActiveResourcesInfo().filter((it) => it === "Timeout").length;
  const before = timers();
  const watch = startWatch(t, [peer.endpoint], {});
  watch.need(USUAL);
  await watch.sees("keys", ({ get }) => get({ id: "list_keys" })?.value);
  watch.need([STATUS]);
  assert.ok(timers() > before);
  await watch.close();
  // Node keeps a timer of its own for idle connections of the peer's server, which existed before.
  await eventually("no timer", () => timers() <= before);
});
