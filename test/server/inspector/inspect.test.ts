/** Requests of a proxy with a guard built as in a gateway. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import {
  brotliCompressSync,
  brotliDecompressSync,
  deflateRawSync,
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateRawSync,
  inflateSync,
} from "node:zlib";
import { nullLog } from "../../../src/base/index.ts";
import type { GuardrailRecord } from "../../../src/server/core/guardrails/index.ts";
import { beginInspection, type InspectionOptions, type Verdict } from "../../../src/server/inspector/index.ts";
import { shapedRefusal } from "../../../src/server/inspector/refusal-shape.ts";
import { countedMetrics, guardOf } from "../dataplane/support/guards.ts";

const CARD = "4111 1111 1111 1111";
const GUARD = guardOf({
  detectors: [
    { name: "cards", type: "pii", prefilter: "pure", entities: ["CREDIT_CARD"] },
    {
      name: "mail",
      type: "pii",
      prefilter: "pure",
      entities: ["EMAIL_ADDRESS"],
      apply_to: ["user", "header", "query"],
    },
  ],
  rules: [
    { name: "mask", action: "redact", select: "a.label == 'CREDIT_CARD'", operator: "replace" },
    {
      name: "no-mail",
      action: "deny",
      when: "'pii/EMAIL_ADDRESS' in labels && hop == 'inspect'",
      message: "No addresses.",
    },
    { name: "no-wipe", action: "deny", when: "method == 'tools/call' && name == 'wipe'", message: "Not this tool." },
  ],
});
const { signal } = new AbortController();

/** Bytes that requests hold from the shared limit. */
const held = {
  bytes: 0,
  most: 100_000_000,
  hold(bytes: number): boolean {
    if (held.bytes + bytes > held.most) return false;
    held.bytes += bytes;
    return true;
  },
};

interface Inspected {
  readonly verdict: Verdict;
  readonly records: readonly GuardrailRecord[];
  readonly counted: Readonly<Record<string, number>>;
}

async function inspectRequest(path: string, body: string | Buffer, ...headers: readonly string[]): Promise<Inspected> {
  const records: GuardrailRecord[] = [];
  const { metrics, counted } = countedMetrics();
  const type = headers.includes("content-type") ? [] : ["content-type", "application/json"];
  const all = [":method", "POST", ":path", path, ":authority", "api.example", ...type, ...headers];
  const memory = { maxBodyBytes: 2_000_000, reserve: held.hold };
  const { inspect } = beginInspection({
    guardrails: () => ({ ...NOBODY, of: () => GUARD }),
    inspectsResponses: false,
    sinks: { trail: { record: (record) => void records.push(record) }, metrics, log: nullLog },
  });
  const verdict = await inspect({ headers: all, body: Buffer.from(body), memory }, signal);
  return { verdict, records, counted };
}

const NOBODY = {
  restorer: () => undefined,
  inForce: { detectors: [], rules: [], profiles: [] },
  readsHeaders: true,
  rehearse: () => Promise.reject(new Error("nobody asks")),
} as unknown as ReturnType<InspectionOptions["guardrails"]>;

const chat = (text: string): string => JSON.stringify({ model: "m-1", messages: [{ role: "user", content: text }] });

test("a message without findings passes and leaves no record", async () => {
  const { verdict, records } = await inspectRequest("/v1/chat/completions", chat("hello"));
  assert.deepEqual([verdict, records], [{ kind: "allow" }, []]);
});

for (const [what, path, body] of [
  ["chat", "/v1/chat/completions", chat(CARD)],
  ["messages, after a path prefix", "/anthropic/v1/messages", chat(CARD)],
  ["responses", "/v1/responses?x=1", JSON.stringify({ model: "m-1", input: CARD })],
  ["JSON of an unknown path", "/internal/ask", JSON.stringify({ model: "m-1", deep: [{ question: CARD }] })],
] as const) {
  test(`a request is redacted with every other byte unchanged: ${what}`, async () => {
    const { verdict, records } = await inspectRequest(path, body);
    assert.equal(verdict.kind === "rewrite" && String(verdict.body), body.replace(CARD, "<CREDIT_CARD>"));
    const [record] = records;
    assert.deepEqual(
      [record?.event, record?.data["hop"], record?.data["model"], record?.data["to"], record?.data["rule"]],
      ["guardrail.decision", "inspect", "m-1", "api.example", "mask"],
    );
    assert.ok(!JSON.stringify(records).includes("4111"));
  });
}

for (const [what, path, body, headers] of [
  ["in the body", "/v1/chat/completions", chat("write to ada@example.org"), []],
  ["in a header", "/v1/chat/completions", chat("hello"), ["x-note", "ada@example.org"]],
  ["in the query, without a body", "/v1/models?to=ada%40example.org", "", []],
] as const) {
  test(`a request is denied for a finding ${what}`, async () => {
    const { verdict, records } = await inspectRequest(path, body, ...headers);
    assert.equal(verdict.kind === "refuse" && verdict.error.code, "guardrail_denied");
    assert.equal(records[0]?.data["decision"], "deny");
  });
}

const rpc = (method: string, params: object, id: unknown = 1): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });
const CALL = rpc("tools/call", { name: "send", arguments: { note: CARD } });
const A2A = rpc("SendMessage", { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: CARD }] } });

for (const [what, path, body, headers, method] of [
  ["a call of MCP", "/tools", CALL, ["mcp-method", "tools/call"], "tools/call"],
  ["a batch of older calls", "/mcp", `[${rpc("ping", {})},${CALL}]`, [], "tools/call"],
  ["a message of A2A", "/v1/agent", A2A, ["a2a-version", "1.0"], "SendMessage"],
  [
    "an A2A message over REST",
    "/agent/message:send",
    JSON.stringify({ message: { role: "ROLE_USER", parts: [{ text: CARD }] } }),
    [],
    "SendMessage",
  ],
] as const) {
  test(`an agent request is redacted with every other byte unchanged: ${what}`, async () => {
    const { verdict, records } = await inspectRequest(path, body, ...headers);
    assert.equal(verdict.kind === "rewrite" && String(verdict.body), body.replace(CARD, "<CREDIT_CARD>"));
    assert.deepEqual([records.length, records[0]?.data["route"], records[0]?.data["rule"]], [1, method, "mask"]);
    assert.ok(!JSON.stringify(records).includes("4111"));
  });
}

test("a mirrored header is rewritten with its argument", async () => {
  const { verdict } = await inspectRequest("/mcp", CALL, "mcp-param-note", CARD, "mcp-param-n", "1");
  assert.deepEqual(verdict.kind === "rewrite" && [...(verdict.headers ?? [])], [["mcp-param-note", "<CREDIT_CARD>"]]);
});

test("rules read the method and the tool, and a denial answers each waiting call", async () => {
  const call = (name: string, id: number): string => rpc("tools/call", { name, arguments: { note: "x" } }, id);
  const allowed = await inspectRequest("/mcp", call("rm", 4), "mcp-name", "rm", "x-note", "nothing");
  assert.equal(allowed.verdict.kind, "allow");
  const denied = await inspectRequest("/mcp", `[${call("ls", 3)},${call("wipe", 4)}]`);
  assert.deepEqual(denied.verdict.kind === "refuse" && [denied.verdict.error.code, denied.verdict.shape?.ids], [
    "guardrail_denied",
    ["3", "4"],
  ]);
  assert.deepEqual(
    denied.records.map(({ data }) => [data["route"], data["name"], data["decision"]]),
    [["tools/call", "wipe", "deny"]],
  );
  if (denied.verdict.kind !== "refuse") return;
  const { status, body } = shapedRefusal(denied.verdict.error, [":method", "POST"], denied.verdict.shape);
  const parsed = JSON.parse(body) as readonly { readonly id: number; readonly error: { readonly code: number } }[];
  assert.deepEqual(
    [status, parsed.map(({ id, error }) => [id, error.code])],
    [
      403,
      [
        [3, -31403],
        [4, -31403],
      ],
    ],
  );
});

for (const [what, type, body, expected] of [
  ["XML", "application/soap+xml", `<a>${CARD}</a>`, "rewrite"],
  ["text of an unknown type", "application/x-own", `note ${CARD}`, "rewrite"],
  ["plain text declared as Latin-1 that is ASCII", "text/plain; charset=iso-8859-1", CARD, "rewrite"],
  ["text without a type", "", CARD, "rewrite"],
  ["a form", "application/x-www-form-urlencoded", `a=1&b=${CARD.replaceAll(" ", "+")}`, "rewrite"],
  ["JSON declared as XML", "application/xml", JSON.stringify({ a: CARD }), "rewrite"],
  ["UTF-16", "text/plain; charset=utf-16le", Buffer.from(CARD, "utf16le"), "invalid_request"],
  ["undeclared UTF-16", "text/plain", Buffer.from(`\uFEFF${CARD}`, "utf16le"), "rewrite"],
  ["JSON with a byte order mark", "application/json", `\uFEFF{"a":"${CARD}"}`, "invalid_request"],
  ["JSON in UTF-16", "application/json", Buffer.from(`{"a":"${CARD}"}`, "utf16le"), "invalid_request"],
  ["bytes without a type", "", Buffer.from([0, 1, 0xff]), "invalid_request"],
  ["messages of gRPC", "application/grpc+proto", Buffer.from([0, 0, 0, 0, 1, 8]), "uninspected grpc"],
  ["an archive", "application/zip", Buffer.from([0x50, 0x4b, 3, 4, 0xff]), "uninspected other"],
] as const) {
  test(`a request on an unknown route is handled: ${what}`, async () => {
    const outcome = await inspectRequest("/upload", body, "content-type", type);
    const { verdict, counted } = outcome;
    const [count] = Object.keys(counted);
    assert.equal(verdict.kind === "refuse" ? verdict.error.code : (count ?? verdict.kind), expected);
    if (verdict.kind === "rewrite") assert.ok(!String(verdict.body).replaceAll("\0", "").includes("4111"));
  });
}

const CODINGS: readonly (readonly [string, (plain: Buffer) => Buffer, (coded: Buffer) => Buffer])[] = [
  ["gzip", gzipSync, gunzipSync],
  ["x-gzip", gzipSync, gunzipSync],
  ["deflate", deflateSync, inflateSync],
  ["deflate", deflateRawSync, inflateRawSync],
  ["BR", brotliCompressSync, brotliDecompressSync],
  ["identity", (plain) => plain, (plain) => plain],
  [
    "gzip, identity, br",
    (plain) => brotliCompressSync(gzipSync(plain)),
    (coded) => gunzipSync(brotliDecompressSync(coded)),
  ],
];

for (const [name, encode, decode] of CODINGS) {
  test(`an encoded body is read, and re-encoded if it is rewritten: ${name}`, async () => {
    const plain = chat(CARD);
    const { verdict } = await inspectRequest(
      "/v1/chat/completions",
      encode(Buffer.from(plain)),
      "content-encoding",
      name,
    );
    assert.equal(verdict.kind === "rewrite" && String(decode(verdict.body)), plain.replace(CARD, "<CREDIT_CARD>"));
    const clean = await inspectRequest(
      "/v1/chat/completions",
      encode(Buffer.from(chat("hello"))),
      "content-encoding",
      name,
    );
    assert.equal(clean.verdict.kind, "allow");
    assert.equal(held.bytes, 0);
  });
}

test("two encoding headers count as two encodings", async () => {
  const twice = gzipSync(gzipSync(Buffer.from(chat(CARD))));
  const { verdict } = await inspectRequest("/mcp", twice, "content-encoding", "gzip", "content-encoding", "gzip");
  assert.equal(verdict.kind, "rewrite");
});

for (const [what, body, encoding, code] of [
  ["an unknown encoding", "x", "compress", "invalid_request"],
  ["a false encoding", chat(CARD), "gzip", "invalid_request"],
  ["a truncated encoding", gzipSync(Buffer.from(chat(CARD))).subarray(0, 40), "gzip", "invalid_request"],
  ["four encodings", "x", "gzip, gzip, gzip, gzip", "invalid_request"],
  ["more than the limit of a body", gzipSync(randomBytes(2_000_001)), "gzip", "body_too_large"],
  ["a thousand times its size", brotliCompressSync(Buffer.alloc(1_500_000)), "br", "body_too_large"],
] as const) {
  test(`a request is refused: ${what}`, async () => {
    const { verdict } = await inspectRequest("/v1/chat/completions", body, "content-encoding", encoding);
    assert.equal(verdict.kind === "refuse" && verdict.error.code, code);
    assert.equal(held.bytes, 0);
  });
}

test("memory for reading is reserved, and a request without room is refused", async () => {
  held.most = 100_000;
  try {
    const { verdict } = await inspectRequest("/v1/chat/completions", chat("x".repeat(50_000)));
    assert.equal(verdict.kind === "refuse" && verdict.error.code, "overloaded");
    assert.equal(held.bytes, 0);
  } finally {
    held.most = 100_000_000;
  }
});

test("an unreadable body is refused, and media are counted", async () => {
  const refused = async (path: string, body: string, ...headers: readonly string[]): Promise<unknown> =>
    inspectRequest(path, body, ...headers).then(
      ({ verdict }) => (verdict.kind === "refuse" ? verdict.error.code : verdict.kind),
      (error: { readonly code: string }) => error.code,
    );
  assert.equal(await refused("/v1/chat/completions", "{broken"), "invalid_request");
  assert.equal(await refused("/v1/realtime", "", "upgrade", "websocket"), "guardrail_denied");
  for (const path of [
    "/v1/realtime/client_secrets",
    "/v1/batches",
    "/proxy/v1/batches?x=1",
    "/V1//Batches/",
    "/v1/%62atches",
    "/v1/x/../batches",
    "/openai/batches?api-version=2025-01-01",
    "/v1/messages/batches",
    "/v1/evals/e/runs",
    "/v1/files?purpose=batch",
  ]) {
    assert.equal(await refused(path, "{}"), "policy_denied", path);
  }
  const form = (purpose: string): string =>
    `--X\r\ncontent-disposition: form-data; name="purpose"\r\n\r\n${purpose}\r\n` +
    '--X\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n{}\r\n--X--\r\n';
  const asForm = ["content-type", "multipart/form-data; boundary=X"];
  assert.equal(await refused("/v1/files", form("batch"), ...asForm), "policy_denied");
  assert.equal(await refused("/v1/files", form("user_data"), ...asForm), "allow");
  const { verdict, counted } = await inspectRequest(
    "/upload",
    Buffer.from([0xff, 0xd8, 0]),
    "content-type",
    "image/jpeg",
  );
  assert.deepEqual([verdict, counted], [{ kind: "allow" }, { "uninspected image": 1 }]);
});
