/** Requests of a proxy before a guard as a gateway makes it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { nullLog } from "../../../src/base/index.ts";
import type { GuardrailRecord } from "../../../src/server/core/guardrails/index.ts";
import type { Verdict } from "../../../src/server/inspector/index.ts";
import { inspectRequest } from "../../../src/server/inspector/inspect.ts";
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
  ],
});
const { signal } = new AbortController();

interface Asked {
  readonly verdict: Verdict;
  readonly records: readonly GuardrailRecord[];
  readonly counted: Readonly<Record<string, number>>;
}

async function asked(path: string, body: string | Buffer, ...headers: readonly string[]): Promise<Asked> {
  const records: GuardrailRecord[] = [];
  const { metrics, counted } = countedMetrics();
  const type = headers.includes("content-type") ? [] : ["content-type", "application/json"];
  const all = [":method", "POST", ":path", path, ":authority", "api.example", ...type, ...headers];
  const verdict = await inspectRequest({ headers: all, body: Buffer.from(body) }, signal, {
    guardrails: () => ({ ...NOBODY, of: () => GUARD }),
    sinks: { trail: { decided: (record) => void records.push(record) }, metrics, log: nullLog },
  });
  return { verdict, records, counted };
}

const NOBODY = {
  restorer: () => undefined,
  inForce: { detectors: [], rules: [], profiles: [] },
  readsHeaders: true,
  rehearse: () => Promise.reject(new Error("nobody asks")),
} as unknown as Parameters<typeof inspectRequest>[2]["guardrails"] extends () => infer Snapshot ? Snapshot : never;

const chat = (text: string): string => JSON.stringify({ model: "m-1", messages: [{ role: "user", content: text }] });

test("what says nothing to be found goes on, and leaves no record", async () => {
  const { verdict, records } = await asked("/v1/chat/completions", chat("hello"));
  assert.deepEqual([verdict, records], [{ kind: "allow" }, []]);
});

for (const [what, path, body] of [
  ["chat", "/v1/chat/completions", chat(CARD)],
  ["messages, behind a prefix", "/anthropic/v1/messages", chat(CARD)],
  ["responses", "/v1/responses?x=1", JSON.stringify({ model: "m-1", input: CARD })],
  ["JSON of a path that nobody knows", "/internal/ask", JSON.stringify({ model: "m-1", deep: [{ question: CARD }] })],
] as const) {
  test(`redacted, every other byte as it came: ${what}`, async () => {
    const { verdict, records } = await asked(path, body);
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
  test(`denied for what stands ${what}`, async () => {
    const { verdict, records } = await asked(path, body, ...headers);
    assert.equal(verdict.kind === "refuse" && verdict.error.code, "guardrail_denied");
    assert.equal(records[0]?.data["decision"], "deny");
  });
}

test("what cannot be read is refused, and media are counted", async () => {
  const refused = async (path: string, body: string, ...headers: readonly string[]): Promise<unknown> =>
    asked(path, body, ...headers).then(
      ({ verdict }) => verdict.kind,
      (error: { readonly code: string }) => error.code,
    );
  assert.equal(await refused("/v1/chat/completions", "{broken"), "invalid_request");
  assert.equal(await refused("/v1/chat/completions", chat("x"), "content-encoding", "gzip"), "invalid_request");
  assert.equal(await refused("/v1/realtime", "", "upgrade", "websocket"), "guardrail_denied");
  assert.equal(await refused("/v1/realtime/client_secrets", "{}"), "guardrail_denied");
  const { verdict, counted } = await asked("/upload", Buffer.from([0xff, 0xd8, 0]), "content-type", "image/jpeg");
  assert.deepEqual([verdict, counted], [{ kind: "allow" }, { "uninspected image": 1 }]);
});
