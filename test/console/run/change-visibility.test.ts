/** Number of members on which a change is visible, by a leader's knowledge or through the given addresses. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type AdminClient, createAdminClient } from "../../../src/admin-api/index.ts";
import { followChange, type Visibility } from "../../../src/console/run/change-visibility.ts";
import { atEnd, type Owner, within } from "../../e2e/support/wait.ts";
import { answer, type Handler, refuse, startPeer, status } from "../watch/support/peer.ts";

const INDEX = 88_413;

interface Node {
  readonly id: string;
  /** Null if the queried node does not know. */
  readonly applied: number | null;
}

const memberAt = (node: string, { id, applied }: Node) => ({
  id,
  raft_addr: "",
  forward_addr: "",
  role: "follower",
  voter: true,
  state: "reachable",
  last_contact_ms: null,
  clock_offset_ms: 0,
  node,
  applied,
  lag: null,
  version: "1",
});

/** The lists in order, the last one repeated; each blocking read returns the next. */
const node = (id: string, applied: number, lists: readonly (readonly Node[])[] = []): Handler => {
  let at = 0;
  return (path, response) => {
    if (path.startsWith("/status")) return answer(response, { ...status({ node: id }), applied_index: applied });
    const list = lists[Math.min(at, lists.length - 1)];
    at += 1;
    if (list === undefined) return refuse(response, 403, "forbidden");
    return answer(response, { items: list.map((it) => memberAt(id, it)), index: at });
  };
};

async function clientOf(owner: Owner, handler: Handler): Promise<{ readonly client: AdminClient; paths(): string[] }> {
  const peer = await startPeer(owner, "a", handler);
  const client = createAdminClient({ address: peer.endpoint.endpoint });
  atEnd(owner, () => client.close());
  return { client, paths: () => peer.received.map(({ path }) => path) };
}

const never = new AbortController().signal;

test("a leader reports on all members, step by step until all have the change", async (t) => {
  const { client, paths } = await clientOf(
    t,
    node("n1", INDEX, [
      [
        { id: "n1", applied: INDEX },
        { id: "n2", applied: INDEX - 1 },
      ],
      [
        { id: "n1", applied: INDEX },
        { id: "n2", applied: INDEX },
      ],
    ]),
  );
  const reported: Visibility[] = [];
  const seen = await followChange(client, [], (now) => reported.push(now), never);
  assert.deepEqual(
    reported.map(({ on }) => on),
    [["n1"], ["n1", "n2"]],
  );
  assert.deepEqual(seen, { index: INDEX, on: ["n1", "n2"], members: ["n1", "n2"] });
  assert.deepEqual(paths(), ["/status", "/cluster_members?nodes=all", "/cluster_members?index=1&wait=1s&nodes=all"]);
});

/** Each member as each of them sees it; a follower knows only itself. */
const everywhere = (...applied: readonly number[]) => ({
  items: applied.flatMap((own, at) =>
    applied.map((_, other) => memberAt(`n${at + 1}`, { id: `n${other + 1}`, applied: other === at ? own : null })),
  ),
});

test("a follower asks the others and counts none of them twice", async (t) => {
  let lists = 0;
  const { client } = await clientOf(t, (path, response) => {
    if (path.startsWith("/status")) return answer(response, { ...status({ node: "n2" }), applied_index: INDEX });
    assert.match(path, /nodes=all/);
    lists += 1;
    return answer(response, { ...everywhere(INDEX + 3, INDEX, lists === 1 ? INDEX - 1 : INDEX), index: lists });
  });
  const reported: Visibility[] = [];
  const seen = await followChange(client, [], (now) => reported.push(now), never);
  assert.deepEqual(
    reported.map(({ on }) => on),
    [
      ["n1", "n2"],
      ["n1", "n2", "n3"],
    ],
  );
  assert.deepEqual(seen.members, ["n1", "n2", "n3"]);
});

test("a node of an earlier version is asked in its own format", async (t) => {
  const known = node("n1", INDEX, [[{ id: "n1", applied: INDEX }]]);
  const { client } = await clientOf(t, (path, response, request) =>
    path.includes("nodes=") ? refuse(response, 400, "invalid") : known(path, response, request),
  );
  assert.deepEqual((await followChange(client, [], () => {}, never)).on, ["n1"]);
});

test("addresses given by the operator are asked about what a follower does not know", async (t) => {
  const members = [
    { id: "n1", applied: null },
    { id: "n2", applied: INDEX },
    { id: "n3", applied: null },
  ];
  const { client } = await clientOf(t, node("n2", INDEX, [members]));
  const first = await startPeer(t, "n1", node("n1", INDEX + 5));
  const third = await startPeer(t, "n3", node("n3", INDEX));
  const seen = await followChange(client, [first.endpoint, third.endpoint], () => {}, never);
  assert.deepEqual(seen.on, ["n1", "n2", "n3"]);
});

test("an address that hangs or is gone does not delay the report of the others", async (t) => {
  const members = [
    { id: "n1", applied: null },
    { id: "n2", applied: INDEX },
    { id: "n3", applied: null },
  ];
  const { client } = await clientOf(t, node("n2", INDEX, [members]));
  const hangs = await startPeer(t, "n1", () => {});
  const gone = await startPeer(t, "n3", () => {});
  await gone.fall();
  const startedAt = performance.now();
  const reported: Visibility[] = [];
  const seen = await within(
    "the end of it",
    followChange(client, [hangs.endpoint, gone.endpoint], (now) => reported.push(now), never),
    9_000,
  );
  assert.deepEqual(
    reported.map(({ on }) => on),
    [["n2"]],
    "what is not new is not reported again",
  );
  assert.deepEqual(seen, { index: INDEX, on: ["n2"], members: ["n1", "n2", "n3"] });
  assert.ok(performance.now() - startedAt >= 4_000, "it looks for five seconds");
});

test("an address that answers is counted while another one hangs", async (t) => {
  const members = ["n1", "n2", "n3"].map((id) => ({ id, applied: id === "n2" ? INDEX : null }));
  const { client } = await clientOf(t, node("n2", INDEX, [members]));
  const hangs = await startPeer(t, "n1", () => {});
  const answers = await startPeer(t, "n3", node("n3", INDEX));
  const stop = new AbortController();
  const startedAt = performance.now();
  const all = new Promise<readonly string[]>((resolve, reject) => {
    const onChange = ({ on }: Visibility): void => (on.includes("n3") ? resolve(on) : undefined);
    followChange(client, [hangs.endpoint, answers.endpoint], onChange, stop.signal).catch(reject);
  });
  assert.deepEqual(await within("the count without the door that hangs", all), ["n2", "n3"]);
  assert.ok(performance.now() - startedAt < 2_000, "before the door that hangs is given up");
  stop.abort();
});

test("without permission to read the members only the node itself is reported", async (t) => {
  const { client } = await clientOf(t, node("n1", INDEX));
  assert.deepEqual(await followChange(client, [], () => {}, never), { index: INDEX, on: ["n1"], members: ["n1"] });
});

test("a broken connection and a missing leader are retried, and the count is reported", async (t) => {
  const whole = node("n1", INDEX, [["n1", "n2"].map((id) => ({ id, applied: INDEX }))]);
  const asked = new Map<string, number>();
  const { client } = await clientOf(t, (path, response, request) => {
    const count = (asked.get(path) ?? 0) + 1;
    asked.set(path, count);
    if (count === 1) return void response.destroy();
    if (count === 2) return refuse(response, 503, "no_leader");
    return whole(path, response, request);
  });
  const reported: Visibility[] = [];
  await followChange(client, [], (now) => reported.push(now), never);
  assert.deepEqual(
    reported.map(({ on }) => on),
    [["n1", "n2"]],
  );
});

test("watching ends with the signal and reports nothing afterwards", async (t) => {
  const stop = new AbortController();
  const { client } = await clientOf(t, (path, response, request) => {
    if (path.startsWith("/status")) return node("n1", INDEX)(path, response, request);
    stop.abort();
  });
  const reported: Visibility[] = [];
  await assert.rejects(followChange(client, [], (now) => reported.push(now), stop.signal));
  assert.deepEqual(reported, []);
});
