/**
 * Answers with status 200 that are none: nothing, a stream without an event, a web page. Each is an error that names the
 * provider, costs nothing, and moves to the next provider. Source: design decisions, sections 2 and 20.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type Answer, mint, say, startGoverned } from "../governance/support/governed.ts";
import { readMetrics, sumOf } from "../support/metrics.ts";
import { endChunks, reply, type Script, scriptedUpstream, startEvents, writeChunk } from "../support/upstream.ts";
import { completion, data, json, stream } from "./support/scripted-providers.ts";

const upstream = await scriptedUpstream({ after });
const spare = await scriptedUpstream({ after });
const provider = (name: string, dialect: string, more: object = {}) => ({
  ...{ name, dialect, api_key: "key-of-the-provider", models: [name] },
  ...{ base_url: dialect === "compat" ? `${upstream.url}/v1` : upstream.url, ...more },
});
const { node, gateway } = await startGoverned(
  { after },
  {
    deployment: {
      providers: [
        provider("chat", "compat"),
        provider("claude", "messages"),
        provider("moving-chat", "compat", { failover: { to: ["spare"] } }),
        provider("moving-claude", "messages", { failover: { to: ["spare"] } }),
        provider("repeating", "compat", { retry: { attempts: 1, backoff: "1ms" } }),
        provider("spare", "compat", { base_url: `${spare.url}/v1` }),
      ],
      profiles: [{ name: "metered", budget: "much" }],
      budgets: [{ name: "much", limit: 1_000_000_000 }],
    },
  },
);
const key = await mint(node, "one", { profile: "metered" });
spare.script = json(completion({ content: "fine" }));

const messages = [{ role: "user", content: "hello" }];
const PATHS = ["/v1/chat/completions", "/v1/messages"];
const ask = (path: string, model: string, streams: boolean): Promise<Answer> =>
  say(gateway, { key, path, body: { model, messages, max_tokens: 9, ...(streams && { stream: true }) } });

async function unitsOf(work: () => Promise<unknown>): Promise<number> {
  const total = async () => sumOf(await readMetrics(gateway), "gateway_budget_units_total", { budget: "much" });
  const before = await total();
  await work();
  return (await total()) - before;
}

const PAGE = "<!DOCTYPE html>\n<html><body>Sign in to the corporate proxy</body></html>";
const body =
  (type: string, text: string): Script =>
  (socket) =>
    reply(socket, { headers: type === "" ? [] : [`Content-Type: ${type}`], body: text });
const cutPage: Script = (socket) => {
  startEvents(socket);
  for (const piece of [" <", "!doc", PAGE.slice(5)]) writeChunk(socket, piece);
  endChunks(socket);
};

/** Stream of Ollama's own API. */
const LINES = [
  { model: "m", message: { role: "assistant", content: "Hello" }, done: false },
  { model: "m", message: { role: "assistant", content: "" }, done: true, prompt_eval_count: 11, eval_count: 7 },
]
  .map((line) => `${JSON.stringify(line)}\n`)
  .join("");

const CASES: readonly (readonly [what: string, script: Script, reason: RegExp])[] = [
  ["a stream without an event", stream(), /is empty/],
  ["an empty stream with a length", body("text/event-stream", ""), /is empty/],
  ["a stream of comments", stream(": waiting\n\n", ": waiting\n\n"), /ended before its answer/],
  ["a stream of pings", stream('event: ping\ndata: {"type":"ping"}\n\n'), /ended before its answer/],
  ["a stream of blank events", stream("data:\n\n", "\n\n"), /ended before its answer/],
  ["nothing but the end of a stream", stream("data: [DONE]\n\n"), /ended before its answer/],
  ["the end of a stream without a blank line", stream("data: [DONE]"), /ended before its answer/],
  ["an empty body", body("application/json", ""), /is empty/],
  ["a blank body", body("application/json", " \r\n"), /is empty/],
  ["an empty body without a type", body("", ""), /is empty/],
  ["a web page", body("text/html; charset=utf-8", PAGE), /web page/],
  ["a web page that is called JSON", body("application/json", `\u{feff}\n${PAGE}`), /web page/],
  ["a web page that is called a stream", body("text/event-stream", PAGE), /web page/],
  ["a web page without a type", body("", "<html><head></head></html>"), /web page/],
  ["a web page in pieces", cutPage, /web page/],
  ["JSON lines", body("application/x-ndjson", LINES), /a stream of JSON lines, not of events: `base_url`/],
  ["JSON lines by another name", body("application/jsonl; charset=utf-8", LINES), /JSON lines/],
  ["an error in XML", body("application/xml", '<?xml version="1.0"?><Error/>'), /web page/],
];

for (const [what, script, reason] of CASES) {
  test(`${what} is an error that names the provider, costs nothing, and moves on`, async () => {
    upstream.script = script;
    for (const streams of [false, true]) {
      for (const path of PATHS) {
        for (const name of ["chat", "claude"]) {
          const units = await unitsOf(async () => {
            const answer = await ask(path, name, streams);
            assert.equal(answer.status, 502, `${path} ${name} ${streams}: ${answer.text}`);
            assert.match(answer.text, /"upstream_invalid"/);
            assert.match(answer.text, new RegExp(`Provider ${name}'s answer could not be read`));
            assert.match(answer.text, reason);
            assert.doesNotMatch(answer.text, /corporate/);
          });
          assert.equal(units, 0);
          const moved = await ask(path, `moving-${name}`, streams);
          assert.deepEqual([moved.status, moved.headers.get("x-gateway-provider")], [200, "spare"], moved.text);
          assert.match(moved.text, /fine/);
        }
      }
      let requestCount = 0;
      upstream.script = (socket, request) =>
        (requestCount++ === 0 ? script : json(completion({ content: "again" })))(socket, request);
      const repeated = await ask("/v1/chat/completions", "repeating", streams);
      assert.deepEqual([repeated.status, repeated.headers.get("x-gateway-attempts")], [200, "2"]);
      upstream.script = script;
    }
    const { items } = await node.client.call("list_backend_errors", { params: { name: "chat" } });
    assert.equal(items[0]?.kind, "invalid");
    assert.match(String(items[0]?.reason), reason);
  });
}

test("a web page on a route that is not translated is that error too, and a text of another kind passes", async () => {
  upstream.script = body("text/html", PAGE);
  const embedded = await say(gateway, { key, path: "/v1/embeddings", body: { model: "chat", input: "a" } });
  assert.deepEqual([embedded.status, /web page/.test(embedded.text)], [502, true]);
  upstream.script = stream(": waiting\n\n", data({ choices: [{ index: 0, delta: { content: "<html>" } }] }));
  assert.equal((await ask("/v1/chat/completions", "chat", true)).status, 200);
  upstream.script = body("text/plain", "<laughs> hello");
  assert.equal((await ask("/v1/chat/completions", "chat", false)).status, 200);
});
