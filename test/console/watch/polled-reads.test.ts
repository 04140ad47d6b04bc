/** Reads without a blocking form: read by the clock, and when the followed list has changed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Data } from "../../../src/console/model/data.ts";
import { eventually } from "../../e2e/support/wait.ts";
import { FAILED } from "../views/traffic-fixtures.ts";
import { answer, createLists, type Handler, refuse, startPeer, status, suspension } from "./support/peer.ts";
import { QUICK, startWatch } from "./support/watching.ts";

const CHANGES = { id: "list_audit_records", name: "admin.write" } as const;

const FAILURE_OF_EARLIER = {
  ...{ request: "", caller: null, model: null, duration_ms: -1 },
  ...{ error_type: null, error_code: null, node: "" },
};

const STATUS = { id: "get_status" } as const;
const WHOAMI = { id: "get_whoami" } as const;
const MEMBERS = { id: "list_cluster_members" } as const;
/** The clock alone triggers nothing within a test. */
const STILL = { ...QUICK, pollMs: 60_000, rarePollMs: 60_000, silenceMs: 60_000 };

const member = (lag: number) => ({
  id: "n1",
  role: "leader",
  voter: true,
  raft_addr: "",
  forward_addr: "",
  state: "reachable",
  last_contact_ms: null,
  clock_offset_ms: 0,
  node: "n1",
  applied: null,
  lag,
  version: "1",
});

test("changed members trigger one read of the status, however many changes there are", async (t) => {
  const lists = createLists();
  const peer = await startPeer(t, "a", lists.handler);
  const followMs = 200;
  const watch = startWatch(t, [peer.endpoint], { intervals: { ...STILL, followMs } });
  watch.need([STATUS, MEMBERS]);
  await watch.sees("the status", ({ get }) => get(STATUS)?.value);
  // One is the probe.
  assert.equal(peer.count("/status"), 2);
  const since = performance.now();
  for (let lag = 0; lag < 4; lag++) {
    await eventually("a blocking read", () => lists.waiting === 1);
    lists.set("cluster_members", [member(lag)]);
    await watch.sees("the change", ({ get }) => get(MEMBERS)?.value?.[0]?.lag === lag);
  }
  await eventually("the status once more", () => peer.count("/status") >= 3);
  const [, ...times] = peer.received.filter(({ path }) => path === "/status").map(({ at }) => at);
  for (const [at, time] of times.entries()) if (at > 0) assert.ok(time - (times[at - 1] ?? 0) >= followMs - 2);
  assert.ok(peer.count("/cluster_members") >= 5);
  // On a busy machine the changes themselves take longer than the minimum pause between reads.
  const most = 3 + Math.floor((performance.now() - since) / followMs);
  assert.ok(times.length + 1 <= most, `${times.length + 1} reads, and at most ${most}`);
});

test("unchanged rows trigger no read, and without the list the status is polled", async (t) => {
  const lists = createLists();
  lists.set("cluster_members", [member(0)]);
  const peer = await startPeer(t, "a", lists.handler);
  const watch = startWatch(t, [peer.endpoint], { intervals: { ...STILL, pollMs: 300, followMs: 10 } });
  watch.need([STATUS, MEMBERS]);
  await watch.sees("the status", ({ get }) => get(STATUS)?.value);
  for (let at = 0; at < 3; at++) {
    await eventually("a blocking read", () => lists.waiting === 1);
    lists.set("cluster_members", [member(0)]);
    await eventually("its answer", () => lists.waiting === 0);
  }
  await eventually("the status once more", () => peer.count("/status") >= 3);
  const [, first, second] = peer.received.filter(({ path }) => path === "/status");
  assert.ok((second?.at ?? 0) - (first?.at ?? 0) >= 298);
  watch.need([STATUS]);
  await eventually("and once more", () => peer.count("/status") >= 4);
});

test("the caller and the tables are read once per connection and on refresh", async (t) => {
  const lists = createLists();
  const peer = await startPeer(t, "a", lists.handler);
  const watch = startWatch(t, [peer.endpoint], { intervals: { ...QUICK, pollMs: 50 } });
  watch.need([WHOAMI, STATUS]);
  const who = await watch.sees("the caller", ({ get }) => get(WHOAMI)?.value);
  await eventually("the status, again and again", () => peer.count("/status") >= 5);
  assert.equal(peer.count("/whoami"), 1);
  watch.refresh();
  await eventually("a second read", () => peer.count("/whoami") === 2);
  await watch.sees("the same caller", ({ get }) => get(WHOAMI)?.value === who);
  await peer.fall();
  await watch.becomes("offline");
  await peer.rise();
  await watch.becomes("online");
  await eventually("a third read", () => peer.count("/whoami") === 3);
});

test("items are extracted from their answer, and names are encoded in the path", async (t) => {
  const failure = {
    ...FAILED,
    time: "2026-01-01T00:00:00.000Z",
    status: 503,
    kind: "status",
    attempt: 1,
    moved_to: null,
  };
  const revision = { revision: 1, updated_at: "2026-01-01T00:00:00.000Z", by: "unix:0", bytes: 5 };
  const handler: Handler = (path, response) => {
    if (path.endsWith("/errors?nodes=all")) answer(response, { items: [failure] });
    else if (path.endsWith("/revisions")) answer(response, { items: [revision] });
    else answer(response, path.startsWith("/audit") || path.startsWith("/query") ? { items: [] } : status());
  };
  const peer = await startPeer(t, "a", handler);
  const watch = startWatch(t, [peer.endpoint], { intervals: QUICK });
  const errors = { id: "list_backend_errors", name: "a/b $& ü" } as const;
  const revisions = { id: "list_source_revisions", name: "default" } as const;
  watch.need([errors, revisions, { id: "list_audit_records" }, CHANGES, { id: "list_query_tables" }]);
  await watch.sees("all", ({ get }) => {
    const empties = [
      get({ id: "list_audit_records" })?.value,
      get(CHANGES)?.value,
      get({ id: "list_query_tables" })?.value,
    ];
    return get(errors)?.value && get(revisions)?.value && empties.every((it) => it?.length === 0);
  });
  const newest = watch.data.at(-1);
  assert.deepEqual(newest?.get(errors)?.value, [failure]);
  assert.deepEqual(newest?.get(revisions)?.value, [revision]);
  assert.equal(newest?.get({ id: "list_backend_errors" }), undefined);
  const paths = new Set(peer.received.map(({ path }) => path));
  assert.ok(paths.has("/backends/a%2Fb%20%24%26%20%C3%BC/errors?nodes=all"), [...paths].join());
  assert.ok(paths.has("/audit/recent?limit=500&nodes=all"));
  assert.ok(paths.has("/audit/recent?limit=500&nodes=all&event=admin.write"));
});

test("nodes without an answer are named beside the answers of the others", async (t) => {
  let others: object = { unanswered: ["n3"], cut: ["n2"] };
  const handler: Handler = (path, response) => {
    if (path.startsWith("/audit") || path.startsWith("/backends")) answer(response, { items: [], ...others });
    else if (path.startsWith("/refusals")) answer(response, { items: [], index: 1, ...others });
    else answer(response, status());
  };
  const peer = await startPeer(t, "a", handler);
  const watch = startWatch(t, [peer.endpoint], { intervals: { ...QUICK, pollMs: 30, followMs: 10 } });
  const needs = [
    { id: "list_audit_records" },
    { id: "list_backend_errors", name: "one" },
    { id: "list_refusals" },
  ] as const;
  watch.need(needs);
  const gapsOf = ({ get }: Data) => needs.map((need) => get(need)?.gaps);
  const seen = await watch.sees("what is missing", (data) => gapsOf(data).every((it) => it !== undefined) && data);
  assert.deepEqual(gapsOf(seen), [others, others, others]);
  others = { unanswered: [], cut: [] };
  await watch.sees("all there", (data) => gapsOf(data).every((it) => it === undefined));
});

test("an older node gets the older query, and missing columns are filled in", async (t) => {
  const older = { time: "2026-01-01T00:00:00.000Z", status: 503, kind: "5xx", attempt: 1, moved_to: null };
  const handler: Handler = (path, response) => {
    if (path.includes("nodes=") || path.includes("event=")) refuse(response, 400, "invalid");
    else if (path.startsWith("/audit")) answer(response, { items: [] });
    else if (path.startsWith("/backends")) answer(response, { items: [older] });
    else if (path.startsWith("/mcp_servers")) answer(response, { items: [], index: 1 });
    else answer(response, status());
  };
  const peer = await startPeer(t, "a", handler);
  const watch = startWatch(t, [peer.endpoint], { intervals: { ...QUICK, pollMs: 30, followMs: 10 } });
  const errors = { id: "list_backend_errors", name: "one" } as const;
  const servers = { id: "list_mcp_servers" } as const;
  watch.need([{ id: "list_audit_records" }, CHANGES, errors, servers]);
  const failure = await watch.sees("the failure", ({ get }) => get(errors)?.value?.[0]);
  assert.deepEqual(failure, { ...FAILURE_OF_EARLIER, ...older });
  await watch.sees(
    "records",
    ({ get }) => get({ id: "list_audit_records" })?.value && get(CHANGES)?.value && get(servers)?.value,
  );
  const data = watch.data.at(-1);
  for (const need of [errors, CHANGES, { id: "list_audit_records" }, servers] as const) {
    assert.deepEqual([data?.get(need)?.gaps?.isOfOne, data?.get(need)?.failure], [true, undefined]);
  }
  await eventually("more reads", () => peer.count("/backends/one/errors") >= 5);
  assert.equal(peer.count("/backends/one/errors?nodes=all"), 1);
});

test("a new leader is reported once; its absence and return are not", async (t) => {
  const lists = createLists();
  const peer = await startPeer(t, "a", lists.handler);
  const watch = startWatch(t, [peer.endpoint], { intervals: { ...QUICK, pollMs: 30, followMs: 10 } });
  watch.need([STATUS]);
  for (const [leader, term] of [
    ["n1", 12],
    [null, 12],
    ["n1", 12],
    [null, 13],
    ["n2", 13],
    ["n2", 13],
    ["n1", 14],
  ] as const) {
    lists.status = status({ leader, term });
    const before = peer.count("/status");
    await eventually("two reads of it", () => peer.count("/status") >= before + 2);
  }
  await eventually("two words", () => watch.notes.length >= 2);
  assert.deepEqual(watch.notes, ["leader is now n2, term 13", "leader is now n1, term 14"]);
});

test("repeated refreshes respect the minimum pause between reads", async (t) => {
  const lists = createLists();
  lists.set("suspensions", [suspension("one")]);
  const peer = await startPeer(t, "a", lists.handler);
  const watch = startWatch(t, [peer.endpoint], { intervals: { ...STILL, pauseMs: 100 } });
  watch.need([{ id: "list_suspensions" }]);
  await eventually("eight reads", () => {
    watch.refresh();
    return peer.received.filter(({ path }) => path === "/suspensions").length >= 8;
  });
  const times = peer.received.filter(({ path }) => path.startsWith("/suspensions")).map(({ at }) => at);
  // Seven pauses; on a busy machine the first read is late and the last is not.
  assert.ok((times.at(-1) ?? 0) - (times[0] ?? 0) >= 500, times.join());
  assert.deepEqual(
    watch.links.map(({ state }) => state.kind),
    ["online"],
  );
});
