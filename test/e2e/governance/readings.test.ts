/**
 * One request, several parsers: anything that a server behind us might read as the model, the path or the purpose of an
 * upload is checked against the caller's rules and list; and a provider's answer does not show our credential. Source:
 * design decisions, sections 2 and 6; RFC 7578.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import { WebSocket, WebSocketServer } from "ws";
import { idle, sumOf } from "../support/metrics.ts";
import { type Bytes, exchange, post } from "../support/raw.ts";
import { endChunks, reply, scriptedUpstream, startEvents, writeChunk } from "../support/upstream.ts";
import { eventually, within } from "../support/wait.ts";
import { chat, mint, PROVIDER_KEY, startGoverned } from "./support/governed.ts";

const file = { after };
const upstream = await scriptedUpstream(file);
const webSockets = new WebSocketServer({ host: "127.0.0.1", port: 0 });
await once(webSockets, "listening");
after(() => webSockets.close());
const address = webSockets.address();
assert.ok(typeof address === "object" && address !== null);
const taken: string[] = [];
webSockets.on("headers", (lines: string[]) => lines.push(`X-Echo: ${PROVIDER_KEY}`, "X-Kept: yes"));
webSockets.on("connection", (socket) => socket.on("message", (bytes) => taken.push(String(bytes))));

const { node, gateway } = await startGoverned(file, {
  deployment: {
    default_provider: "sim",
    providers: [
      {
        name: "sim",
        dialect: "compat",
        base_url: `${upstream.url}/v1`,
        api_key: PROVIDER_KEY,
        stream_usage: true,
        model_aliases: { fast: "hidden" },
      },
      {
        name: "talk",
        dialect: "compat",
        base_url: `http://127.0.0.1:${address.port}/v1`,
        api_key: PROVIDER_KEY,
        models: ["talk"],
      },
    ],
    profiles: [
      { name: "limited", allowed_models: ["good", "fast", "talk"] },
      { name: "metered", budget: "much" },
    ],
    budgets: [{ name: "much", limit: 1_000_000 }],
    access_rules: [
      { name: "not-that", at: ["llm"], condition: 'model == "banned"', action: "deny" },
      { name: "nor-that", at: ["llm"], condition: 'upstream_model == "hidden"', action: "deny" },
    ],
  },
});
const keys = { rule: await mint(node, "free"), list: await mint(node, "limited", { profile: "limited" }) };
const metered = await mint(node, "metered", { profile: "metered" });

const bearer = (key: string) => `Authorization: Bearer ${key}`;
const EDITS = "/v1/images/edits";
const CHAT = "/v1/chat/completions";
const FORM = "Content-Type: multipart/form-data; boundary=B";
const ENCODED = "Content-Type: application/x-www-form-urlencoded";
const JSON_BODY = "Content-Type: application/json";

const part = (value: string, head = 'form-data; name="model"'): string =>
  `--B\r\nContent-Disposition: ${head}\r\n\r\n${value}\r\n`;
const form = (...parts: readonly string[]): string => `${parts.join("")}--B--\r\n`;
const bannedJson = '{"model":"banned","prompt":"x"}';
const goodChat = '{"model":"good","messages":[]}';
/** JSON to one parser, a form to another. */
const both = `{"model":"good","x":"\r\n--B\r\nContent-Disposition: form-data; name=model\r\n\r\nbanned\r\n--B--\r\n"}`;

type Row = readonly [what: string, path: string, headers: readonly string[], body: Bytes];
const ROUND: readonly Row[] = [
  ["JSON without a type", EDITS, [], bannedJson],
  ["JSON declared as text", EDITS, ["Content-Type: text/plain"], bannedJson],
  ["JSON declared as form-encoded", EDITS, [ENCODED], bannedJson],
  ["JSON declared as multipart", EDITS, [FORM], bannedJson],
  [
    "JSON declared as octets, after whitespace",
    EDITS,
    ["Content-Type: application/octet-stream"],
    ` \r\n${bannedJson}`,
  ],
  ["JSON of another path", "/v1/anything", ["Content-Type: text/plain"], bannedJson],
  ["JSON of a provider's type", EDITS, ["Content-Type: application/vnd.x+json"], bannedJson],
  ["JSON with a byte order mark", EDITS, [], `\u{feff}${bannedJson}`],
  ["JSON in UTF-16", EDITS, ["Content-Type: text/plain; charset=utf-16le"], Buffer.from(bannedJson, "utf16le")],
  ["JSON in a list", EDITS, [], `[${bannedJson}]`],
  ["JSON in lines", EDITS, [], `${bannedJson}\n${bannedJson}`],
  ["JSON that names the model twice", EDITS, [], '{"model":"good","model":"banned"}'],
  ["JSON with a member name in other letter case", EDITS, [], '{"model":"good","Model":"banned"}'],
  ["JSON with a NUL after the name", CHAT, [JSON_BODY], '{"model":"good","model\\u0000":"banned"}'],
  ["fallbacks with a long s", CHAT, [JSON_BODY], '{"model":"good","modelſ":["banned"],"messages":[]}'],
  ["undeclared gzip", EDITS, [], gzipSync(bannedJson)],
  ["declared gzip", EDITS, ["Content-Encoding: gzip"], gzipSync(bannedJson)],
  ["a form-encoded body", EDITS, [ENCODED], "model=banned&prompt=x"],
  ["a form-encoded body with escapes", EDITS, [ENCODED], "prompt=x&mod%65l=b%61nned"],
  ["a form-encoded body with a semicolon", EDITS, [ENCODED], "prompt=x;model=banned"],
  ["a form-encoded body that names the model twice", EDITS, [ENCODED], "model=good&model=banned"],
  ["a form-encoded list", EDITS, [ENCODED], "model[]=banned"],
  ["a form-encoded body without its type", EDITS, [], "model=banned"],
  ["a form", EDITS, [FORM], form(part("banned"))],
  ["a form of another kind of parts", EDITS, ["Content-Type: multipart/mixed; boundary=B"], form(part("banned"))],
  ["a form without its type", EDITS, [], form(part("banned"))],
  ["a form with two boundaries", EDITS, [`${FORM}; boundary=C`], form(part("banned"))],
  [
    "a part in base64",
    EDITS,
    [FORM],
    form(part("YmFubmVk", 'form-data; name="model"\r\nContent-Transfer-Encoding: base64')),
  ],
  [
    "a quoted part",
    EDITS,
    [FORM],
    form(part("b=61nned", 'form-data; name="model"\r\ncontent-transfer-encoding : quoted-printable')),
  ],
  [
    "a part in UTF-7",
    EDITS,
    [FORM],
    form(part("+AGI-anned", 'form-data; name="model"\r\nContent-Type: text/plain; charset=utf-7')),
  ],
  [
    "a part in UTF-16",
    EDITS,
    [FORM],
    form(part("banned", 'form-data; name="model"\r\nContent-Type: text/plain; charset="UTF-16LE"')),
  ],
  [
    "a part in JSON",
    EDITS,
    [FORM],
    form(part('"banned"', 'form-data; name="model"\r\nContent-Type: application/json')),
  ],
  ["a charset for all parts", EDITS, [FORM], form(part("utf-7", 'form-data; name="_charset_"'), part("+AGI-anned"))],
  [
    "a part with a name in other letter case",
    EDITS,
    [FORM],
    form(part("good"), part("banned", 'form-data; name="MODEL"')),
  ],
  ["a part of a list", EDITS, [FORM], form(part("good"), part("banned", 'form-data; name="model[]"'))],
  ["a part with an escaped name", EDITS, [FORM], form(part("good"), part("banned", 'form-data; name="mod%65l"'))],
  ["a part with space around its name", EDITS, [FORM], form(part("good"), part("banned", 'form-data; name=" model "'))],
  ["a query besides a body", `${CHAT}?model=banned`, [JSON_BODY], goodChat],
  ["a query with a name in other letter case", `${CHAT}?MODEL=banned`, [JSON_BODY], goodChat],
  ["an escaped query", `${CHAT}?x=1&mod%65l=banned`, [JSON_BODY], goodChat],
  ["a query with a semicolon", `${CHAT}?x=1;model=banned`, [JSON_BODY], goodChat],
  ["a query besides a form", `${EDITS}?model=banned`, [FORM], form(part("good"))],
  ["a body that is JSON and a form", EDITS, [FORM], both],
  ["a body that is JSON and form-encoded", CHAT, [ENCODED], '{"model":"good","messages":[],"x":"&model=banned&"}'],
  ["an alias", CHAT, [JSON_BODY], '{"model":"fast","messages":[]}'],
];

async function goesNowhere(what: string, bytes: Bytes): Promise<void> {
  const before = upstream.requests.length;
  const { status } = await exchange(file, gateway.port, bytes);
  assert.ok(status === 400 || status === 403, `${what}: ${status}`);
  assert.equal(upstream.requests.length, before, what);
}

for (const [by, key] of Object.entries(keys)) {
  test(`no model bypasses a ${by} through a body or query that others parse differently`, async () => {
    for (const [what, path, headers, body] of ROUND) {
      await goesNowhere(`${what} (${by})`, post(path, body, [bearer(key), ...headers]));
    }
  });
}

test("a body that cannot be read is refused if a budget would have to count it", async () => {
  await goesNowhere("unreadable", post(EDITS, "\u0001\u0002", [bearer(metered)]));
});

const PASSING: readonly Row[] = [
  ["JSON without a type", EDITS, [], '{"model":"good"}'],
  ["JSON as curl sends it", CHAT, [ENCODED], '{"model":"good","messages":[{"role":"user","content":"a&b=c"}]}'],
  ["a form", EDITS, [FORM], form(part("x", 'form-data; name="prompt"'), part("good"))],
  [
    "a part with the usual type",
    EDITS,
    [FORM],
    form(
      part(
        "good",
        'form-data; name="model"\r\nContent-Type: text/plain; charset=ISO-8859-1\r\nContent-Transfer-Encoding: 8bit',
      ),
    ),
  ],
  ["a form-encoded body", EDITS, [ENCODED], "model=good&prompt=a+b"],
  ["a query of its own", `${CHAT}?api-version=2`, [JSON_BODY], goodChat],
  ["the same model in the query", `${CHAT}?model=good`, [JSON_BODY], goodChat],
];
for (const [what, path, headers, body] of PASSING) {
  test(`${what} passes unchanged`, async () => {
    for (const key of Object.values(keys)) {
      const { status } = await exchange(file, gateway.port, post(path, body, [bearer(key), ...headers]));
      assert.equal(status, 200);
      const request = upstream.requests.at(-1);
      assert.deepEqual([request?.target, request?.body.toString()], [path, String(body)]);
    }
  });
}

const batchForm = form(part("batch", 'form-data; name="purpose"'));
const harmless = form(part("user_data", 'form-data; name="purpose"'));
/** The bytes are a form, and decompress to another one: the decoy is in gzip's own comment. */
function decoy(): Buffer {
  const packed = gzipSync(batchForm);
  const head = Buffer.from(packed.subarray(0, 10));
  head[3] = 0x10;
  return Buffer.concat([
    head,
    Buffer.from(`\r\n${harmless.slice(0, -8)}\0`),
    packed.subarray(10),
    Buffer.from("\r\n--B--\r\n"),
  ]);
}
for (const [what, headers, body, query] of [
  ["in gzip", ["Content-Encoding: gzip"], gzipSync(batchForm), ""],
  ["after a decoy in gzip", ["Content-Encoding: gzip"], decoy(), ""],
  ["in an unknown encoding", ["Content-Encoding: zstd"], harmless, ""],
  ["in the query", [], harmless, "?purpose=batch"],
  ["in other letter case", [], form(part("batch", 'form-data; name="Purpose"')), ""],
] as const) {
  test(`a batch file is recognized ${what}`, async () => {
    for (const key of Object.values(keys)) {
      await goesNowhere(what, post(`/v1/files${query}`, body, [bearer(key), FORM, ...headers]));
    }
  });
}
test("a file that is not for a batch passes in gzip too", async () => {
  const bytes = post("/v1/files", gzipSync(harmless), [bearer(keys.list), FORM, "Content-Encoding: gzip"]);
  assert.equal((await exchange(file, gateway.port, bytes)).status, 200);
});

test("paths that another server reads as a different path reach no upstream", async () => {
  for (const path of [
    "/v1/files/%252e%252e/batches",
    "/v1/files/%2e%2e%2fbatches",
    "/v1/files/..%3b/batches",
    "/v1/files/..;a=b/batches",
    "/v1/files%5c..%5cbatches",
    "/v1/files/..%5cbatches",
    "/v1/files/%c0%ae%c0%ae/batches",
    "/v1/files/%ef%bc%8e%ef%bc%8e/batches",
    "/v1/files/%u002e%u002e/batches",
    "/v1/%2562atches",
    "/v1/batches%3b",
    "/v1/batches%00",
    "/v1/batches%20",
    "/v1/batches.",
    "/v1/batches.json",
    "/v1/batches%3fx=1",
    "/v1/batches%23",
    "/v1/batches%0d%0a",
    "/v1/ﬁles",
    "/v1/%EF%AC%81les",
  ]) {
    await goesNowhere(path, post(path, '{"input_file_id":"file-1"}', [bearer(keys.rule), JSON_BODY]));
    if (!path.includes("batches")) continue;
    const upgrade = [`GET ${path.replace("batches", "realtime")}?model=good HTTP/1.1`, "Host: x", bearer(keys.list)];
    upgrade.push("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13");
    await goesNowhere(path, [...upgrade, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "", ""].join("\r\n"));
  }
  for (const path of ["/v1/models/meta%2Fllama-3.1", "/v1/files/file-1", "/v1/models/a:b"]) {
    const before = upstream.requests.length;
    await exchange(file, gateway.port, `GET ${path} HTTP/1.1\r\nHost: x\r\n${bearer(keys.rule)}\r\n\r\n`);
    assert.equal(upstream.requests.length, before + 1, path);
  }
});

test("headers that choose another method, path or account are not forwarded with our credential", async () => {
  const names = ["X-HTTP-Method-Override", "X-Original-URL", "X-Rewrite-URL", "OpenAI-Organization", "OpenAI-Project"];
  const sent = [...names, "OpenAI_Organization", "X_Api_Key", "x-goog-api-key", "X-Kept"].map((name) => `${name}: v`);
  await exchange(file, gateway.port, post(CHAT, goodChat, [bearer(keys.rule), JSON_BODY, ...sent]));
  const got = upstream.requests.at(-1)?.headers.filter(([, value]) => value === "v");
  assert.deepEqual(got, [["X-Kept", "v"]]);
});

test("an answer shows our credential under no name and in no form", async () => {
  const packed = (text: string): string => Buffer.from(text).toString("base64");
  upstream.script = (socket) => {
    const headers = [
      "X-Api-Key: anything",
      "Authorization: Bearer other",
      `X-Echo: Bearer ${PROVIDER_KEY}`,
      `X-Upper: ${PROVIDER_KEY.toUpperCase()}`,
      `Set-Cookie: key=${PROVIDER_KEY}; Path=/`,
      `X-Basic: Basic ${packed(`:${PROVIDER_KEY}`)}`,
      `X-Basic-2: ${packed(`ab${PROVIDER_KEY}c`)}`,
      `X-Hex: ${Buffer.from(PROVIDER_KEY).toString("hex")}`,
      `X-Escaped: ${PROVIDER_KEY.replaceAll("-", "%2D")}`,
      "Content-Type: application/json",
      "X-Kept: yes",
    ];
    const lines = [`HTTP/1.1 200 ${PROVIDER_KEY}`, ...headers, "Trailer: X-Late", "Transfer-Encoding: chunked", "", ""];
    socket.write(`${lines.join("\r\n")}2\r\n{}\r\n0\r\nX-Late: ${PROVIDER_KEY}\r\n\r\n`);
  };
  const answer = await exchange(file, gateway.port, post(CHAT, goodChat, [bearer(keys.rule), JSON_BODY]));
  upstream.script = (socket) => reply(socket);
  assert.equal(answer.status, 200);
  const names = answer.headers.map(([name]) => name.toLowerCase()).filter((name) => !name.startsWith("x-gateway-"));
  assert.deepEqual(
    names.filter((name) => !["date", "connection", "keep-alive", "transfer-encoding"].includes(name)),
    ["content-type", "x-kept"],
  );
});

for (const [what, end] of Object.entries({ "CR alone": "\r\r", "one line end": "\n", nothing: "" })) {
  test(`a usage at the end of the stream is charged and counted when ${what} follows it`, async () => {
    const line = end === "\r\r" ? end : "\n\n";
    upstream.script = (socket) => {
      startEvents(socket);
      writeChunk(socket, `data: {"choices":[{"index":0,"delta":{"content":"a"}}]}${line}`);
      writeChunk(socket, `data: {"choices":[],"usage":{"prompt_tokens":30,"completion_tokens":7}}${end}`);
      endChunks(socket);
    };
    const seen = async () => {
      const used = sumOf(await idle(gateway), "gateway_tokens_total", { provider: "sim" });
      const { items } = await node.client.call("list_budgets");
      return [used, Number(items.find(({ key }) => key === "metered")?.used ?? 0)] as const;
    };
    const [tokens, units] = await seen();
    const request = chat({ model: "good", stream: true });
    const answer = await exchange(
      file,
      gateway.port,
      post(CHAT, JSON.stringify(request), [bearer(metered), JSON_BODY]),
    );
    upstream.script = (socket) => reply(socket);
    // Only the gateway requested the report.
    assert.equal(answer.body.toString(), `data: {"choices":[{"index":0,"delta":{"content":"a"}}]}${line}`);
    assert.equal((await seen())[0] - tokens, 37);
    await eventually("the charge", async () => (await seen())[1] - units === 37);
  });
}

for (const event of [
  '{"type":"response.create","response":{"Model":"banned"}}',
  '{"type":"response.create","MODEL":"banned"}',
  '{"type":"response.create","Response":{"model":"banned"}}',
  '[{"type":"response.create","response":{"model":"banned"}}]',
  Buffer.from('{"type":"response.create","model":"banned","x":"\xff"}', "latin1"),
]) {
  test(`rules apply to a session with ${String(event)}, and it shows nothing of our credential`, async () => {
    for (const key of Object.values(keys)) {
      const headers = { authorization: `Bearer ${key}` };
      const socket = new WebSocket(`${gateway.url.replace("http", "ws")}/v1/realtime?model=talk`, { headers });
      after(() => socket.terminate());
      const upgraded = once(socket, "upgrade");
      await within("the session", once(socket, "open"));
      const [answer] = (await upgraded) as [{ headers: Record<string, string> }];
      assert.deepEqual([answer.headers["x-kept"], answer.headers["x-echo"]], ["yes", undefined]);
      const closed = once(socket, "close");
      socket.send(event, { binary: typeof event !== "string" });
      const [code, reason] = await within("the close", closed);
      assert.deepEqual([code, String(reason)], [1008, "model not allowed"]);
      assert.deepEqual(taken, [], "the provider got no event that was refused");
    }
  });
}
