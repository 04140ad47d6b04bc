/** Texts of MCP messages, and messages with replaced texts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  answerFromCache,
  filterTools,
  type McpHeaders,
  mcpAnswerTexts,
  mcpOutcome,
  mcpRequestTexts,
  readMcpRequest,
  sharingTermsOf,
} from "../../../../../src/server/core/agents/index.ts";

const META =
  '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},' +
  '"io.modelcontextprotocol/clientInfo":{"name":"probe"},"traceparent":"00-a-b-01","com.example/note":"a note"}';

function requestTexts(method: string, params: string, more: McpHeaders = {}, name = "") {
  const body = `{"jsonrpc":"2.0", "id":1,"method":"${method}","params":{${params}${params === "" ? "" : ","}${META}}}`;
  const headers = {
    "content-type": "application/json",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    ...(name !== "" && { "mcp-name": name }),
    ...more,
  };
  const reading = readMcpRequest(headers, Buffer.from(body));
  assert.ok(reading.kind === "read", JSON.stringify(reading));
  return { body, texts: mcpRequestTexts(reading.request, headers) };
}

test("every string value in a call's arguments is found, and member names are only read", () => {
  const { body, texts } = requestTexts(
    "tools/call",
    '"name":"send","arguments":{"type":"SECRET","n":1,"deep":[{"uri":"x SECRET"}]},"requestState":"SECRET"',
    {},
    "send",
  );
  assert.deepEqual(
    texts.texts.map(({ text, ref, isReadOnly }) => [text, ref, isReadOnly]),
    [
      ["send", "name", true],
      ["SECRET", "", false],
      ["x SECRET", "", false],
      ["a note", "", false],
    ],
  );
  const rewritten = texts.rewrite(texts.texts.map(({ text }) => text.replaceAll("SECRET", 'a"b')));
  assert.equal(rewritten.body, body.replace('"SECRET","n"', '"a\\"b","n"').replace("x SECRET", 'x a\\"b'));
  assert.equal(texts.rewrite([]).body, body);
});

test("a mirrored header is rewritten with its text argument, kept for a number, and is a text of its own otherwise", () => {
  const mirrors = {
    "mcp-param-who": "=?base64?5Zyw5Zuz?=",
    "mcp-param-count": "41",
    "mcp-param-other": "SECRET",
    "mcp-param-plain": "eu",
  };
  const { texts } = requestTexts(
    "tools/call",
    '"name":"q","arguments":{"who":"地図","count":41,"region":"eu"}',
    mirrors,
    "q",
  );
  assert.deepEqual(
    texts.texts.map(({ text }) => text),
    ["q", "地図", "eu", "a note", "SECRET"],
  );
  const { headers } = texts.rewrite(texts.texts.map(({ text }) => (text === "eu" ? text : `<${text}>`)));
  assert.deepEqual(
    [...headers],
    [
      ["mcp-param-who", "=?base64?POWcsOWbsz4=?="],
      ["mcp-param-other", "<SECRET>"],
    ],
  );
});

test("user answers, completion values and texts of unknown methods are found", () => {
  const textsOf = (method: string, params: string, name = "") =>
    requestTexts(method, params, {}, name)
      .texts.texts.filter(({ ref }) => ref === "")
      .map(({ text }) => text);
  assert.deepEqual(
    textsOf(
      "tools/call",
      '"name":"ask","inputResponses":{"who":{"action":"accept","content":{"name":"Bo","type":"t"}},"s":{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m"}}',
      "ask",
    ),
    ["Bo", "t", "hi", "a note"],
  );
  assert.deepEqual(
    textsOf(
      "completion/complete",
      '"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"lang","value":"py"},"context":{"arguments":{"type":"x"}}',
    ),
    ["py", "x", "a note"],
  );
  assert.deepEqual(textsOf("com.example/own", '"type":"SECRET","cursor":"c","name":{"status":"s"}'), [
    "SECRET",
    "s",
    "a note",
  ]);
});

const RESULT =
  '{"result":{"content":[{"type":"text","text":"a SECRET"},{"type":"image","data":"aGk=","mimeType":"image/png"},' +
  '{"type":"resource_link","uri":"file:///SECRET","name":"SECRET","description":"d SECRET"},' +
  '{"type":"resource","resource":{"uri":"u","mimeType":"text/plain","blob":"U0VDUkVU"}},' +
  '{"type":"resource","resource":{"uri":"u","mimeType":"application/zip","blob":"U0VDUkVU"}}],' +
  '"structuredContent":{"type":"SECRET","list":["x",1]},"resultType":"complete"},"jsonrpc":"2.0","id":1}';

test("in a result texts, structured content and textual blobs are rewritten, names and addresses read, media counted", () => {
  const answer = mcpAnswerTexts(RESULT);
  assert.ok(answer !== undefined);
  assert.deepEqual(answer.uninspected, ["image", "file"]);
  const rewritten = answer.rewrite(answer.texts.map(({ text }) => text.replaceAll("SECRET", "[x]")));
  assert.equal(
    rewritten,
    RESULT.replace("a SECRET", "a [x]")
      .replace("d SECRET", "d [x]")
      .replace('"type":"SECRET"', '"type":"[x]"')
      .replace('text/plain","blob":"U0VDUkVU"', 'text/plain","blob":"W3hd"'),
  );
});

test("descriptions of tools are texts, and schema values are only read", () => {
  const list =
    '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","description":"ignore all","inputSchema":{"type":"object",' +
    '"properties":{"type":{"type":"string","description":"say it","enum":["one"]}},"required":["type"]}}],"nextCursor":"c"}}';
  assert.deepEqual(
    mcpAnswerTexts(list)?.texts.map(({ text, isReadOnly }) => [text, isReadOnly]),
    [
      ["a", true],
      ["ignore all", false],
      ["say it", false],
      ["one", true],
    ],
  );
});

test("texts of errors and notifications are found", () => {
  const textsOf = (message: string) => mcpAnswerTexts(message)?.texts.map(({ text }) => text);
  assert.deepEqual(textsOf('{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","data":{"uri":"u"}}}'), [
    "no",
    "u",
  ]);
  assert.deepEqual(
    textsOf(
      '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"l","data":{"level":"x"}}}',
    ),
    ["l", "x"],
  );
  assert.equal(mcpAnswerTexts("no JSON"), undefined);
});

test("without a change every message stays byte for byte", () => {
  fc.assert(
    fc.property(fc.json(), (json) => {
      assert.equal(mcpAnswerTexts(json)?.rewrite([]), json);
    }),
  );
});

const list = (more: string): string =>
  `{"id":1,"jsonrpc":"2.0","result":{"resultType":"complete","tools":[{"name":"a"},{"name":"b","x":1}]${more}}}`;

test("the shareable part of a list is kept, and a later answer is made from it", () => {
  assert.deepEqual(sharingTermsOf(list(',"ttlMs":1000,"cacheScope":"public"')), { ttlMs: 1_000 });
  for (const more of [
    "",
    ',"ttlMs":0,"cacheScope":"public"',
    ',"ttlMs":-1,"cacheScope":"public"',
    ',"ttlMs":9,"cacheScope":"private"',
  ]) {
    assert.equal(sharingTermsOf(list(more)), undefined);
  }
  assert.equal(
    answerFromCache(list(',"ttlMs":1000,"cacheScope":"public"'), '"q"', 400.7),
    list(',"ttlMs":400,"cacheScope":"public"').replace('"id":1', '"id":"q"'),
  );
});

test("a list shows only callable entries, and is then private", () => {
  assert.equal(
    filterTools(list(""), () => true),
    list(""),
  );
  assert.equal(
    filterTools(list(',"cacheScope":"public"'), (name) => name === "b"),
    list(',"cacheScope":"private"').replace('{"name":"a"},', ""),
  );
  assert.match(
    filterTools(list(""), () => false),
    /"tools":\[\]/,
  );
  assert.match(
    filterTools('{"result":{"tools":[{"name":"a","name":"b"}]}}', (name) => name === "b"),
    /"private","tools":\[\]/,
  );
});

test("a server's support for this revision is detected", () => {
  assert.deepEqual(mcpOutcome('{"id":1,"result":{}}'), { kind: "result", resultType: undefined });
  assert.deepEqual(mcpOutcome('{"id":1,"error":{}}').kind, "error");
  assert.deepEqual(mcpOutcome('{"method":"notifications/progress"}').kind, "notification");
});
