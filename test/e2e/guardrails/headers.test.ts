/**
 * Headers and query strings of requests under guardrails: findings are refused on every route, with a body or without,
 * and reported by kind. Source: specification document 3 (`apply_to`); design decisions, section 11.
 */
import assert from "node:assert/strict";
import { request } from "node:http";
import { after, test } from "node:test";
import { recordsIn } from "../admin/support/trail.ts";
import { chat, mint, say, startGoverned } from "../governance/support/governed.ts";
import { eventually } from "../support/wait.ts";

const file = { after };
const CARD = "4111 1111 1111 1111";
const ARABIC = "٤١١١ ١١١١ ١١١١ ١١١١";
const CANARIES = [CARD, CARD.replaceAll(" ", ""), encodeURIComponent(CARD)];

const { simulator, node, gateway } = await startGoverned(file, {
  deployment: {
    profiles: [{ name: "trusted", guardrails: { detectors: [] } }],
    guardrails: {
      detectors: [
        { type: "pii", name: "envelope", prefilter: "pure", entities: ["CREDIT_CARD"], apply_to: ["header", "query"] },
      ],
      rules: [
        { name: "no-cards-in-titles", action: "deny", when: 'annotations.exists(a, a.ref == "header:x-title")' },
        { name: "no-cards-beside", action: "deny", when: 'annotations.exists(a, a.kind in ["header", "query"])' },
      ],
    },
  },
});
const key = await mint(node, "plain");
const trusted = await mint(node, "trusted", { profile: "trusted" });

/** Header values are sent as one byte per character, which `fetch` refuses for most. */
function get(path: string, headers: Readonly<Record<string, string>>, bearer = key): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request(gateway.url + path, { headers: { authorization: `Bearer ${bearer}`, ...headers } });
    asked.on("response", (response) => {
      response.resume().on("end", () => resolve(response.statusCode));
    });
    asked.on("error", reject).end();
  });
}

const bytes = (text: string): string => Buffer.from(text).toString("latin1");

const DENIED: readonly (readonly [what: string, path: string, headers: Readonly<Record<string, string>>])[] = [
  ["a header", "/v1/files", { "x-note": `pay ${CARD}` }],
  ["a header in UTF-8", "/v1/files", { "x-note": bytes(`pay ${ARABIC}`) }],
  ["a header in Latin-1", "/v1/files", { "x-note": `\u00fc ${CARD}` }],
  ["a header in UTF-8 with a byte that is none", "/v1/files", { "x-note": `${bytes(ARABIC)} \u00ff` }],
  ["a header that never goes on", "/v1/files", { connection: "x-note", "x-note": CARD }],
  ["a header of encoded words", "/v1/files", { "x-note": `=?utf-8?B?${Buffer.from(CARD).toString("base64")}?=` }],
  ["a header with a parameter in parts", "/v1/files", { "x-note": "a; n*0*=UTF-8''4111%31111; n*1=11111111" }],
  ["a header with escapes within quotes", "/v1/files", { "x-note": 'a; n="4111\\1111\\1111\\1111"' }],
  ["a header in circled digits", "/v1/files", { "x-note": bytes("④①①①①①①①①①①①①①①①") }],
  ["a query of keycaps", `/v1/files?purpose=${encodeURIComponent(CARD.replace(/[0-9]/g, "$&\u20e3"))}`, {}],
  ["a query", `/v1/files?purpose=${CARD.replaceAll(" ", "")}`, {}],
  ["a query, escaped", `/v1/files?purpose=${encodeURIComponent(CARD)}`, {}],
  ["a query, escaped as forms have it", `/v1/files?purpose=${CARD.replaceAll(" ", "+")}`, {}],
  ["a query, escaped twice", `/v1/files?purpose=${encodeURIComponent(encodeURIComponent(CARD))}`, {}],
  ["a query in digits of another script", `/v1/files?purpose=${encodeURIComponent(ARABIC)}`, {}],
  ["a parameter without a name", `/v1/files?${encodeURIComponent(CARD)}`, {}],
  ["the second parameter of a name", `/v1/files?limit=1&limit=${encodeURIComponent(CARD)}`, {}],
];

test("a card in a header or in the query is denied on a route without a body, in any encoding", async () => {
  const before = simulator.counts().requests;
  for (const [what, path, headers] of DENIED) assert.equal(await get(path, headers), 403, what);
  assert.equal(simulator.counts().requests, before);
});

test("credentials are not inspected, and headers without findings pass", async () => {
  const before = simulator.counts().requests;
  for (const headers of [{ cookie: CARD }, { "x-api-key": CARD }, { "x-note": "4111 1111 1111 1112" }]) {
    assert.notEqual(await get("/v1/files", headers), 403, Object.keys(headers)[0]);
  }
  assert.notEqual(await get(`/v1/files?purpose=${encodeURIComponent(CARD)}`, { "x-note": CARD }, trusted), 403);
  assert.equal(simulator.counts().requests, before + 4);
});

test("headers are read beside an uninspected body; a rule may test the location, and the record has the kind", async () => {
  const answer = await say(gateway, { key, headers: { "x-title": CARD } });
  assert.deepEqual([answer.status, answer.code], [403, "guardrail_denied"], answer.text);
  assert.equal(answer.headers.get("x-gateway-guardrails"), "no-cards-in-titles=deny");
  const id = answer.headers.get("x-gateway-request-id");
  const { data } = await eventually("the record of the denial", () =>
    recordsIn(node.output()).find(({ event, data }) => event === "guardrail.decision" && data["request"] === id),
  );
  const matched = [{ rule: "no-cards-in-titles", action: "deny", types: { "pii/CREDIT_CARD": 1 }, kinds: ["header"] }];
  assert.deepEqual(data["matched"], matched);
  const body = chat({ messages: [{ role: "user", content: `pay with ${CARD}` }] });
  assert.equal((await say(gateway, { key, body })).status, 200);
  const asked = await say(gateway, { key, path: `/v1/chat/completions?card=${encodeURIComponent(CARD)}` });
  assert.equal(asked.headers.get("x-gateway-guardrails"), "no-cards-beside=deny");
});

test("no value of a header or of the query appears in logs, records or metrics", async () => {
  const all = node.output() + (await (await fetch(String(gateway.metricsUrl))).text());
  for (const canary of CANARIES) assert.ok(!all.includes(canary), canary);
});

test("a caller's request id is kept if it has the generated format, and otherwise appears in no record", async () => {
  const generated = "0190A3F2-7b1c-7def-8abc-0123456789ab";
  const ids: string[] = [];
  for (const id of [generated, "0af7651916cd43dd8448eb211c80319c", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "4111111111111111"]) {
    const { headers } = await say(gateway, { key, headers: { "x-request-id": id } });
    ids.push(headers.get("x-gateway-request-id") ?? "");
  }
  assert.deepEqual(ids.slice(0, 3), [generated, "0af7651916cd43dd8448eb211c80319c", "01ARZ3NDEKTSV4RRFFQ69G5FAV"]);
  assert.match(ids[3] ?? "", /^[\da-f]{8}-/);
  assert.ok(!gateway.stderr().includes("4111111111111111"));
});
