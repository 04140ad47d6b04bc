/** Guardrails on every node of a cluster, and on the remaining nodes when one is killed. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { chat, mint, PROVIDER_KEY, say, startGoverned } from "../governance/support/governed.ts";
import { eventually } from "../support/wait.ts";

const CARD = "4111 1111 1111 1111";
const { simulator, nodes, node } = await startGoverned(
  { after },
  {
    ids: ["n1", "n2", "n3"],
    deployment: {
      guardrails: {
        detectors: [{ type: "pii", prefilter: "pure", entities: ["CREDIT_CARD"] }],
        rules: [{ name: "cards", action: "redact" }],
      },
    },
  },
);
const key = await mint(node, "plain");

async function isRewrittenBy(gateway: (typeof nodes)[number]["gateway"]): Promise<boolean> {
  const answer = await say(gateway, { key, body: chat({ messages: [{ role: "user", content: `pay ${CARD} now` }] }) });
  if (answer.status === 401) return false; // its log does not have the key yet
  assert.equal(answer.status, 200, answer.text);
  const headers = { authorization: `Bearer ${PROVIDER_KEY}` };
  const sent = await (await fetch(`${simulator.url}/sim/last`, { headers })).text();
  assert.match(sent, /pay <CREDIT_CARD> now/);
  return true;
}

test("each node rewrites what goes to a provider, also after another node was killed", async () => {
  for (const { gateway } of nodes) await eventually("the key on the node", () => isRewrittenBy(gateway));
  nodes[0]?.gateway.signal("SIGKILL");
  await nodes[0]?.gateway.ended;
  for (const { gateway } of nodes.slice(1)) assert.ok(await isRewrittenBy(gateway));
});
