/** `gateway cluster step-down` with scripted admin sockets. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { execute } from "../../../src/cli/main.ts";
import { bufferIo } from "../buffer-io.ts";
import { standIn } from "../fake-gateway.ts";

interface Shown {
  readonly leader: string | null;
  readonly voters: readonly string[];
  readonly silent?: readonly string[];
}

async function stepDown(t: TestContext, { leader, voters, silent = [] }: Shown, ...flags: readonly string[]) {
  const { socket, requests } = await standIn(t, ({ method, url }, response) => {
    const body = url.endsWith("/status")
      ? { node: "n1", leader }
      : url.includes("/cluster_members")
        ? {
            items: voters.map((id) => ({ id, voter: true, state: silent.includes(id) ? "silent" : "reachable" })),
            index: 1,
          }
        : { leader: "n2" };
    assert.equal(method, url.endsWith("/cluster/leader") ? "POST" : "GET");
    response.setHeader("content-type", "application/json").end(JSON.stringify(body));
  });
  const io = bufferIo();
  const status = await execute(["cluster", "step-down", "-socket", socket, ...flags], io);
  const transfers = requests.filter(({ method }) => method === "POST").length;
  return { status, out: io.out(), err: io.err(), transfers };
}

const CASES: readonly (readonly [what: string, shown: Shown, words: string, transfers: number])[] = [
  ["a leader", { leader: "n1", voters: ["n1", "n2", "n3"] }, "n1 handed leadership over to n2.\n", 1],
  [
    "a follower",
    { leader: "n3", voters: ["n1", "n2", "n3"] },
    "n1 does not lead: the leader is n3. Nothing was changed.\n",
    0,
  ],
  [
    "a node without a leader",
    { leader: null, voters: ["n1", "n2", "n3"] },
    "n1 does not lead: it knows no leader. Nothing was changed.\n",
    0,
  ],
  [
    "a cluster of one",
    { leader: "n1", voters: ["n1"] },
    "n1 reaches no other voting member, so it stays the leader.\n",
    0,
  ],
  [
    "the last of three",
    { leader: "n1", voters: ["n1", "n2", "n3"], silent: ["n2", "n3"] },
    "n1 reaches no other voting member, so it stays the leader.\n",
    0,
  ],
];

for (const [what, shown, message, transfers] of CASES) {
  test(`${what}: ${message.trim()}`, async (t) => {
    assert.deepEqual(await stepDown(t, shown), { status: 0, out: "", err: message, transfers });
  });
}

test("the linger time is as requested", async (t) => {
  const startedAt = performance.now();
  const { status } = await stepDown(t, { leader: "n3", voters: ["n1", "n3"] }, "-linger", "300ms");
  assert.equal(status, 0);
  assert.ok(performance.now() - startedAt >= 290);
});

for (const [what, leaderAfter, status, message] of [
  ["has taken effect", "n2", 0, /^n1 handed leadership over to n2\.\n$/],
  [
    "has not taken effect",
    "n1",
    3,
    /gave no answer within 5000 ms; the change may still be made\.\ntry: another node of its cluster; .*stopped or overloaded\n$/,
  ],
] as const) {
  test(`a handover that is answered too late and ${what}`, async (t) => {
    let leader = "n1";
    const { socket } = await standIn(t, ({ url }, response) => {
      if (url.endsWith("/cluster/leader")) {
        leader = leaderAfter;
        return;
      }
      const items = ["n1", "n2", "n3"].map((id) => ({ id, voter: true, state: "reachable" }));
      const body = url.endsWith("/status") ? { node: "n1", leader } : { items, index: 1 };
      response.setHeader("content-type", "application/json").end(JSON.stringify(body));
    });
    const io = bufferIo();
    assert.equal(await execute(["cluster", "step-down", "-socket", socket], io), status);
    assert.match(io.err(), message);
  });
}

test("an unreachable gateway exits with status 3", async () => {
  const io = bufferIo();
  assert.equal(await execute(["cluster", "step-down", "-socket", "/nowhere/admin.sock"], io), 3);
});
