/** Two processes with one node id, judged by the node that both connect to. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createRivals, type RivalLink } from "../../../../src/server/cluster/wire/rivals.ts";
import { settled } from "../support/outcome.ts";

function bench({ answers, arbitrates = true }: { answers: boolean; arbitrates?: boolean }) {
  let now = 0;
  const closed: string[] = [];
  let probes = 0;
  const present: RivalLink = {
    hello: { incarnation: "one" },
    async probe() {
      probes += 1;
      return answers;
    },
    close: (reason) => closed.push(String(reason)),
  };
  const rivals = createRivals<RivalLink>({ decidesRivalry: () => arbitrates, now: () => now });
  return {
    closed,
    probes: () => probes,
    judge: (incarnation: string | undefined, link: RivalLink = present) =>
      rivals.refusalCodeFor(link, { nodeId: "a", ...(incarnation !== undefined && { incarnation }) }),
    present,
    pass(ms: number) {
      now += ms;
    },
  };
}

test("the same process may always replace its own connection, and so may one of an earlier version", () => {
  const { judge, present, probes } = bench({ answers: true });
  assert.equal(judge("one"), undefined);
  assert.equal(judge(undefined), undefined);
  assert.equal(judge("two", { ...present, hello: {} }), undefined);
  assert.equal(probes(), 0);
});

test("a second process must retry until it is known whether the first answers, and is then refused", async () => {
  const { judge, closed, probes, pass } = bench({ answers: true });
  assert.equal(judge("two"), "busy");
  assert.equal(judge("two"), "busy");
  assert.equal(probes(), 1);
  await settled();
  assert.equal(judge("two"), "duplicate_node");
  pass(10_000);
  assert.equal(judge("two"), "busy", "an answer is not believed for ever");
  await settled();
  assert.equal(judge("two"), "duplicate_node");
  assert.deepEqual([probes(), closed.length], [2, 0]);
});

test("a first process that does not answer is replaced", async () => {
  const { judge, closed } = bench({ answers: false });
  assert.equal(judge("two"), "busy");
  await settled();
  assert.equal(closed.length, 1);
});

test("if another node is to decide, neither process has to end", async () => {
  const { judge } = bench({ answers: true, arbitrates: false });
  judge("two");
  await settled();
  assert.equal(judge("two"), "busy");
});
