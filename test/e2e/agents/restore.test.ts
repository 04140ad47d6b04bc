/**
 * Values that a model saw only encrypted are decrypted for the one server that needs them. Source: specification
 * document 3, `mcp[].restore`; guardrails reference, 4.3.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { recordsIn } from "../admin/support/trail.ts";
import { chat, mint, PROVIDER_KEY, say, startGoverned } from "../governance/support/governed.ts";
import { scriptedUpstream } from "../support/upstream.ts";
import { eventually } from "../support/wait.ts";

const file = { after };
const CARD = "4111 1111 1111 1111";
const FPE_KEY = "2b7e151628aed2a6abf7158809cf4f3c";
const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

const upstream = await scriptedUpstream(file, (socket, { body }) => {
  const { id } = JSON.parse(body.toString()) as { readonly id: unknown };
  const text = JSON.stringify({ jsonrpc: "2.0", id, result: { resultType: "complete", content: [] } });
  socket.write(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
});
const { simulator, node, gateway } = await startGoverned(file, {
  deployment: {
    mcp: [
      { name: "payments", url: `${upstream.url}/pay`, restore: ["CREDIT_CARD"] },
      { name: "search", url: `${upstream.url}/search` },
    ],
    guardrails: {
      fpe_key: FPE_KEY,
      detectors: [{ type: "pii", name: "finder", prefilter: "pure", entities: ["CREDIT_CARD"] }],
      rules: [
        {
          name: "hide",
          when: 'hop == "llm"',
          action: "redact",
          operator: "fpe",
          select: 'a.type == "pii/CREDIT_CARD"',
        },
      ],
    },
  },
});
const plain = await startGoverned(file, {
  deployment: {
    mcp: [{ name: "crm", url: `${upstream.url}/crm`, restore: ["PHONE_NUMBER", "US_SSN", "CREDIT_CARD"] }],
    guardrails: {
      fpe_key: FPE_KEY,
      detectors: [
        { type: "pii", name: "finder", prefilter: "pure", entities: ["CREDIT_CARD", "PHONE_NUMBER", "US_SSN"] },
      ],
      rules: [{ name: "hide", action: "redact", operator: "fpe" }],
    },
  },
});
const ownKey = await mint(plain.node, "own");

const key = await mint(node, "plain");

/** The number as the model sees it. */
const messages = [{ role: "user", content: `charge ${CARD} please` }];
const answer = await say(gateway, { key, body: chat({ messages }) });
assert.equal(answer.status, 200, answer.text);
const seen = await (
  await fetch(`${simulator.url}/sim/last`, { headers: { authorization: `Bearer ${PROVIDER_KEY}` } })
).text();
const hidden = /charge ([0-9 ]{19}) please/.exec(seen)?.[1] ?? "";

async function call(server: string, args: object, headers: Readonly<Record<string, string>> = {}) {
  const body = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "charge", arguments: args, _meta: META },
  };
  const response = await fetch(`${gateway.url}/mcp/${server}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "charge",
      authorization: `Bearer ${key}`,
      ...headers,
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const sent = upstream.requests.at(-1);
  return {
    status: response.status,
    text,
    body: String(sent?.body),
    headers: new Map(sent?.headers.map(([name, value]) => [name.toLowerCase(), value])),
  };
}

test("the model sees a substitute number, and only the named server gets the original back", async () => {
  assert.match(hidden, /^[0-9]{4} [0-9]{4} [0-9]{4} [0-9]{4}$/);
  assert.notEqual(hidden, CARD);
  const paid = await call("payments", { card: hidden, note: `card ${hidden}.` }, { "mcp-param-card": hidden });
  assert.equal(paid.status, 200, paid.text);
  assert.match(paid.body, new RegExp(`"card":"${CARD}","note":"card ${CARD}\\."`));
  assert.equal(paid.headers.get("mcp-param-card"), CARD);
  const searched = await call("search", { card: hidden });
  assert.match(searched.body, new RegExp(`"card":"${hidden}"`));
});

test("values that were never encrypted and text outside the arguments stay unchanged", async () => {
  assert.match((await call("payments", { card: CARD })).body, new RegExp(`"card":"${CARD}"`));
  const kept = await call("payments", { n: 1 }, { "mcp-param-x": hidden });
  assert.equal(kept.headers.get("mcp-param-x"), hidden);
});

test("the audit trail records how many values of which type, and no value", async () => {
  const record = await eventually("the record", () =>
    recordsIn(node.output()).find(
      ({ event, data }) => event === "guardrail.decision" && data["decision"] === "restore",
    ),
  );
  assert.deepEqual(
    [record.data["restored"], record.data["to"], record.data["hop"]],
    [{ CREDIT_CARD: 2 }, "payments", "mcp"],
  );
  assert.ok(!node.output().includes(CARD) && !node.output().includes(hidden));
});

test("a call with more candidate values than the limit is refused before it is sent", async () => {
  const before = upstream.requests.length;
  const refused = await call("payments", { all: `${hidden}; `.repeat(2_500) });
  assert.equal(refused.status, 413, refused.text.slice(0, 200));
  assert.equal(upstream.requests.length, before);
});

async function lastSent(content: readonly string[]): Promise<readonly string[]> {
  const response = await say(plain.gateway, {
    key: ownKey,
    body: chat({ messages: content.map((text) => ({ role: "user", content: text })) }),
  });
  assert.equal(response.status, 200, response.text);
  const last = await fetch(`${plain.simulator.url}/sim/last`, { headers: { authorization: `Bearer ${PROVIDER_KEY}` } });
  const { body } = (await last.json()) as {
    readonly body: { readonly messages: readonly { readonly content: string }[] };
  };
  return body.messages.map((message) => message.content);
}

test("one rule covers all traffic types: values that a model quotes stay unchanged from turn to turn, and the tool gets the originals", async () => {
  const asked = `card ${CARD}, phone +1 415-555-2671, ssn 536-22-1234, on 2024-05-17, order #48213, file src/main.py`;
  const [seen = ""] = await lastSent([asked]);
  for (const value of [CARD, "415-555-2671", "536-22-1234"]) assert.ok(!seen.includes(value), seen);
  assert.match(
    seen,
    /^card (?:\d{4} ){3}\d{4}, phone \+1 \d{3}-\d{3}-\d{4}, ssn \d{3}-\d\d-\d{4}, on 2024-05-17, order #48213/,
  );
  // Any worker process may serve the next turns.
  for (let turn = 0; turn < 8; turn += 1) {
    const quoted = `you said: ${seen}`;
    assert.deepEqual(await lastSent([asked, quoted, "and now?"]), [seen, quoted, "and now?"]);
  }
  const called = await fetch(`${plain.gateway.url}/mcp/crm`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "note",
      authorization: `Bearer ${ownKey}`,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "note", arguments: { note: seen, city: "Paris", at: "2024-05-17" }, _meta: META },
    }),
  });
  assert.equal(called.status, 200, await called.text());
  const sent = JSON.parse(String(upstream.requests.at(-1)?.body)) as {
    readonly params: { readonly arguments: object };
  };
  assert.deepEqual(sent.params.arguments, { note: asked, city: "Paris", at: "2024-05-17" });
});
