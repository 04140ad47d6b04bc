/**
 * One budget of one key over models, tools and agents, concurrently and on several nodes, is exact to the unit and
 * never exceeded. Source: specification document 3, `cost_per_call`; decisions, 6.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { chat, mint, startGoverned } from "../governance/support/governed.ts";
import { reply, type Script, scriptedUpstream } from "../support/upstream.ts";
import { eventually } from "../support/wait.ts";

const LIMIT = 1_000;
const COST = { llm: 7, mcp: 11, a2a: 13 };
type Hop = keyof typeof COST;
const HOPS = Object.keys(COST) as Hop[];
const ROUNDS = 120;

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};
const REQUESTS: Readonly<Record<Hop, { readonly path: string; readonly headers: object; readonly body: object }>> = {
  llm: { path: "/v1/chat/completions", headers: {}, body: chat() },
  mcp: {
    path: "/mcp/tools",
    headers: { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "echo" },
    body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo", arguments: {}, _meta: META } },
  },
  a2a: {
    path: "/a2a/helper",
    headers: { "a2a-version": "1.0" },
    body: {
      jsonrpc: "2.0",
      id: 1,
      method: "SendMessage",
      params: { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] } },
    },
  },
};

const answering =
  (result: object): Script =>
  (socket) =>
    reply(socket, {
      headers: ["Content-Type: application/json"],
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, result }),
    });

test("a budget shared by models, tools and agents is exact on three nodes", async (t) => {
  const [tools, helper] = await Promise.all([scriptedUpstream(t), scriptedUpstream(t)]);
  tools.script = answering({ content: [], resultType: "complete" });
  helper.script = answering({ message: { messageId: "a", role: "ROLE_AGENT", parts: [{ text: "you" }] } });
  const { node, nodes } = await startGoverned(t, {
    ids: ["n1", "n2", "n3"],
    deployment: {
      mcp: [{ name: "tools", url: `${tools.url}/mcp`, cost_per_call: COST.mcp }],
      a2a: [{ name: "helper", url: `${helper.url}/rpc`, cost_per_call: COST.a2a }],
      budgets: [{ name: "team", limit: LIMIT, window: "week", cost: { type: "CEL", cel: String(COST.llm) } }],
      profiles: [{ name: "spender", budget: "team" }],
    },
  });
  const key = await mint(node, "spender", { profile: "spender" });
  /** A node that gets no more of the budget in time refuses with 503 and charges nothing, so the call is repeated. */
  const ask = async (hop: Hop, at: number): Promise<number> =>
    eventually("an answer but 503", async () => {
      const status = await askOnce(hop, at);
      return status === 503 ? undefined : status;
    });
  const askOnce = async (hop: Hop, at: number): Promise<number> => {
    const gateway = nodes[at % nodes.length]?.gateway;
    const { path, headers, body } = REQUESTS[hop];
    const answer = await fetch(`${gateway?.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${key}`, ...headers },
      body: JSON.stringify(body),
    });
    await answer.arrayBuffer();
    return answer.status;
  };
  await eventually("the key on every node", async () => {
    const statuses = await Promise.all(nodes.map((_, at) => ask("mcp", at)));
    return statuses.every((status) => status === 200);
  });
  const warmingUp = tools.requests.length;
  const used = async (): Promise<number> => {
    const { items } = await node.client.call("list_budgets");
    return items.reduce((sum, row) => sum + Number(row.used), 0);
  };
  const statuses = Object.fromEntries(HOPS.map((hop) => [hop, [] as number[]])) as Record<Hop, number[]>;
  await Promise.all(
    Array.from({ length: ROUNDS }, async (_, at) => {
      const hop = HOPS[at % HOPS.length] as Hop;
      statuses[hop].push(await ask(hop, Math.floor(at / HOPS.length)));
    }),
  );
  const done = HOPS.map((hop) => statuses[hop].filter((status) => status === 200).length);
  t.diagnostic(`calls done: ${HOPS.map((hop, at) => `${hop} ${done[at]}`).join(", ")}`);
  for (const hop of HOPS) assert.deepEqual([...new Set(statuses[hop])].toSorted(), [200, 429], hop);
  assert.deepEqual([tools.requests.length - warmingUp, helper.requests.length], [done[1], done[2]]);
  const spent = HOPS.reduce((sum, hop, at) => sum + (done[at] ?? 0) * COST[hop], 0);
  await eventually("every unit in the books", async () => (await used()) - warmingUp * COST.mcp === spent);
});
