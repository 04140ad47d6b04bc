/**
 * Audit trails of a three-node cluster: each node signs a chain of its own, and any node reports the heads that all
 * chains must reach. Source: design decisions, section 4; specification document 1, "audit verify".
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createNodes, led, ready, SLOW_MS } from "../config/support/nodes.ts";
import { eventually } from "../support/wait.ts";
import { recordsIn, verify, witnessedHeads } from "./support/trail.ts";

const CHANGES = 10;

interface Head {
  readonly node: string;
  readonly seq: number;
  readonly conflicts: number;
}

test("a change made at any node appears in the audit trail of the node that was asked, and every trail verifies against one list of heads", async (t) => {
  const nodes = await createNodes(t, { ids: ["n1", "n2", "n3"], deployment: { providers: [] } });
  await Promise.all(nodes.map((node) => ready(node.launch())));
  await Promise.all(nodes.map(led));
  for (const node of nodes) {
    for (let count = 1; count <= CHANGES; count += 1) {
      await node.client.call("create_key", { body: { name: `${node.id}-${count}` } }, { timeLimitMs: SLOW_MS });
    }
  }
  const [first] = nodes;
  assert.ok(first);
  const writes = (id: string) =>
    recordsIn(nodes.find((node) => node.id === id)?.output() ?? "").filter(({ event }) => event === "admin.write");
  const last = new Map<string, number>();
  for (const { id } of nodes) {
    const records = await eventually(`the records of ${id}`, () => writes(id).length >= CHANGES && writes(id), SLOW_MS);
    const names = Array.from({ length: CHANGES }, (_, at) => `${id}-${at + 1}`);
    assert.deepEqual(
      records.map(({ node, data }) => `${node} ${data["name"]}`),
      names.map((name) => `${id} ${name}`),
    );
    last.set(id, records.at(-1)?.seq ?? -1);
  }

  const heads = await eventually(
    "heads of all three that cover the changes",
    async () => {
      const text = await witnessedHeads(t, first);
      const found = JSON.parse(text) as readonly Head[];
      const isCovered = ([id, seq]: readonly [string, number]) => found.some((it) => it.node === id && it.seq >= seq);
      return [...last].every(isCovered) && found.every(({ conflicts }) => conflicts === 0) && text;
    },
    SLOW_MS,
  );
  const outputs = nodes.map((node) => node.output());
  const whole = await verify(t, first.dir, outputs.join("\n"), heads);
  assert.equal(whole.status, 0, whole.text);
  for (const { id } of nodes) assert.match(whole.text, new RegExp(`^ok {3}${id} `, "m"));

  const cut = (outputs[1] ?? "").split("\n").filter((line) => !line.includes('"event":"admin.write"'));
  const short = await verify(t, first.dir, [outputs[0], cut.join("\n"), outputs[2]].join("\n"), heads);
  assert.equal(short.status, 1, short.text);
  assert.match(short.text, /^FAIL n2 /m);
  assert.match(short.text, /^ok {3}n1 /m);

  const missing = await verify(t, first.dir, [outputs[0], outputs[2]].join("\n"), heads);
  assert.equal(missing.status, 1, missing.text);
  assert.match(missing.text, /n2/);
});
