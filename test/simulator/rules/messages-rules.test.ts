import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { variantOf } from "../../../src/simulator/response-variants.ts";
import { checkCounted, checkMessages } from "../../../src/simulator/rules/index.ts";
import { omittedSignatureOf, redactedOf, signatureOf } from "../../../src/simulator/thinking-signature.ts";
import { asJson, refusalOf } from "./refusal-of.ts";

const USER = { role: "user", content: "x" };
const BASE = { model: "m", max_tokens: 4_000, messages: [USER] };
const TEXT = { type: "text", text: "t" };
const SCHEMA = { type: "object", properties: {} };
const TOOL = { name: "f", input_schema: SCHEMA };
const THINKING = { type: "thinking", thinking: "hm", signature: signatureOf("hm") };
const ENABLED = { type: "enabled", budget_tokens: 1_024 };
const MARK = { type: "ephemeral" };

const requestWith = (...messages: unknown[]) => ({ ...BASE, messages });
const userTurn = (...content: unknown[]) => requestWith({ role: "user", content });
const use = (id = "a") => ({ type: "tool_use", id, name: "f", input: {} });
const result = (id = "a", more: object = {}) => ({ type: "tool_result", tool_use_id: id, content: "y", ...more });
const assistant = (...content: unknown[]) => ({ role: "assistant", content });
const user = (...content: unknown[]) => ({ role: "user", content });
const base64 = (mediaType: string, data = "aGk=") => ({ type: "base64", media_type: mediaType, data });

const closed = (properties: object) => ({ type: "object", properties, additionalProperties: false });
const answering = (part: object, definitions: object = {}) => {
  const schema = { ...closed({ a: part }), $defs: definitions };
  return { ...BASE, output_config: { format: { type: "json_schema", schema } } };
};

const OLD = { "anthropic-version": "2023-06-01" };
const NEW = { "anthropic-version": "2026-10-21" };

const refused = (body: unknown, headers: Record<string, string> = OLD, model = "sim-small") =>
  refusalOf(() => checkMessages(asJson(body), headers, variantOf(model)))?.message;

const REFUSED: readonly (readonly [body: unknown, message: RegExp])[] = [
  [{ ...BASE, max_tokens: undefined }, /^max_tokens: Field required$/],
  [{ ...BASE, max_tokens: -1 }, /^max_tokens: Input should be greater than or equal to 0$/],
  [{ ...BASE, n: 1 }, /^n: Extra inputs are not permitted$/],
  [{ ...BASE, mcp_servers: [] }, /^mcp_servers: Extra inputs are not permitted$/],
  [requestWith(), /at least one message/],
  [requestWith({ role: "tool", content: "x" }), /^messages\.0\.role: Input should be 'user', 'assistant' or 'system'$/],
  [requestWith({ ...USER, name: "n" }), /^messages\.0\.name: Extra inputs/],
  [requestWith(assistant(TEXT), USER), /first message must use the "user" role/],
  [requestWith({ role: "system", content: "x" }, USER), /first message must use the "user" role/],
  [requestWith({ role: "user", content: "" }), /^messages\.0: all messages must have non-empty content/],
  [userTurn(), /^messages\.0: all messages must have non-empty content/],
  [userTurn({ type: "text", text: "" }), /^messages: text content blocks must be non-empty$/],
  [{ ...BASE, system: [{ type: "text", text: "" }] }, /^system: text content blocks must be non-empty$/],
  [userTurn({ type: "text", text: " \n" }), /must contain non-whitespace text/],
  [userTurn({ type: "video" }), /^messages\.0\.content\.0: Input tag 'video' found using 'type'/],
  [userTurn({ text: "x" }), /^messages\.0\.content\.0: Unable to extract tag/],
  [
    userTurn({ ...TEXT, prompt_cache_breakpoint: {} }),
    /^messages\.0\.content\.0\.text\.prompt_cache_breakpoint: Extra inputs/,
  ],
  [userTurn({ type: "image_url", image_url: {} }), /Input tag 'image_url'/],
  [{ ...BASE, stop_sequences: [" "] }, /each stop sequence must contain non-whitespace/],
  [{ ...BASE, stop_sequences: "x" }, /^stop_sequences: Input should be a valid list$/],
  [requestWith(USER, { role: "assistant", content: "x " }), /cannot end with trailing whitespace/],
  [
    requestWith(USER, assistant(use("functions.f:0"))),
    /^messages\.1\.content\.0\.tool_use\.id: String should match pattern/,
  ],
  [requestWith(USER, assistant(use()), user(TEXT, result())), /without `tool_result` blocks immediately after: a/],
  [
    requestWith(USER, assistant(use()), user(TEXT), user(result())),
    /without `tool_result` blocks immediately after: a/,
  ],
  [requestWith(USER, assistant(use())), /^messages\.1: `tool_use` ids were found without/],
  [requestWith(USER, assistant(use()), USER), /^messages\.1: `tool_use` ids were found without/],
  [requestWith(USER, assistant(use(), use("b")), user(result("a"))), /immediately after: b/],
  [userTurn(result()), /^messages\.0\.content\.0: unexpected `tool_use_id` found in `tool_result` blocks: a/],
  [requestWith(USER, assistant(use()), user(result(), result())), /must have a single result/],
  [requestWith(USER, assistant(use()), user(result()), assistant(use()), user(result())), /ids must be unique/],
  [userTurn(use()), /`tool_use` blocks can only be in `assistant` messages/],
  [requestWith(USER, assistant(result())), /`tool_result` blocks can only be in `user` messages/],
  [requestWith(USER, assistant({ ...use(), input: "{}" })), /tool_use\.input: Input should be a valid dictionary/],
  [{ ...BASE, tools: [TOOL, TOOL] }, /Tool names must be unique/],
  [{ ...BASE, tools: [{ ...TOOL, name: "a b" }] }, /^tools\.0\.custom\.name: String should match pattern/],
  [{ ...BASE, tools: [{ ...TOOL, name: "a".repeat(129) }] }, /^tools\.0\.custom\.name/],
  [{ ...BASE, tools: [{ name: "f", input_schema: {} }] }, /^tools\.0\.custom\.input_schema\.type: Field required$/],
  [
    { ...BASE, tools: [{ name: "f", input_schema: { type: "object", anyOf: [] } }] },
    /does not support oneOf, allOf, or anyOf/,
  ],
  [{ ...BASE, tools: [{ ...TOOL, strict: true }] }, /'additionalProperties' must be explicitly set to false/],
  [
    answering({ type: "integer", minimum: 0, maximum: 9 }),
    /^output_config\.format\.schema: .*maximum, minimum are not/,
  ],
  [answering({ type: "array", items: {}, minItems: 2 }), /'minItems' values other than 0 or 1 are not supported/],
  [answering({ type: "string", maxLength: 3 }), /For 'string' type, property 'maxLength' is not supported/],
  [answering({ type: "string", format: "phone" }), /String format 'phone' is not supported/],
  [answering({ enum: [{}] }), /Complex types within enums/],
  [answering({ $ref: "https://example.com/a" }), /External \$ref/],
  [answering({ $ref: "#" }), /Too many recursive definitions/],
  [answering({ $ref: "#/$defs/a" }, { a: { anyOf: [{ $ref: "#/$defs/a" }] } }), /Too many recursive definitions/],
  [
    { ...BASE, tools: [{ ...TOOL, strict: true, input_schema: closed({ a: { type: "number", multipleOf: 2 } }) }] },
    /^tools\.0\.custom\.input_schema: For 'number' type, property 'multipleOf' is not supported$/,
  ],
  [{ ...BASE, tools: [{ type: "function", function: {} }] }, /Input tag 'function'/],
  [{ ...BASE, tool_choice: { type: "any" } }, /only be specified while providing tools/],
  [{ ...BASE, tools: [TOOL], tool_choice: { type: "tool", name: "g" } }, /Tool 'g' not found/],
  [{ ...BASE, tools: [TOOL], tool_choice: "auto" }, /^tool_choice: Input should be a valid dictionary$/],
  [
    { ...BASE, tools: [TOOL], tool_choice: { type: "none", disable_parallel_tool_use: true } },
    /disable_parallel_tool_use: Extra inputs/,
  ],
  [{ ...BASE, tools: [TOOL], tool_choice: { type: "any" }, thinking: ENABLED }, /when tool_choice forces tool use/],
  [
    { ...BASE, thinking: { type: "enabled", budget_tokens: 1_023 } },
    /^thinking\.enabled\.budget_tokens: Input should be greater than or equal to 1024$/,
  ],
  [{ ...BASE, max_tokens: 1_024, thinking: ENABLED }, /`max_tokens` must be greater than `thinking\.budget_tokens`/],
  [{ ...BASE, temperature: 0.5, thinking: ENABLED }, /`temperature` may only be set to 1/],
  [{ ...BASE, top_p: 0.5, thinking: { type: "adaptive" } }, /`top_p` must be greater than or equal to 0\.95/],
  [{ ...BASE, top_k: 5, thinking: ENABLED }, /`top_k` must be unset/],
  [requestWith(USER, assistant({ ...THINKING, signature: "" }, TEXT), USER), /Invalid `signature` in `thinking` block/],
  [requestWith(USER, assistant({ ...THINKING, thinking: "hm!" }, TEXT), USER), /Invalid `signature`/],
  [requestWith(USER, assistant({ type: "redacted_thinking", data: "xx" }, TEXT), USER), /Invalid `data`/],
  [requestWith(USER, assistant({ ...THINKING, cache_control: MARK }), USER), /thinking\.cache_control: Extra inputs/],
  [
    { ...requestWith(USER, assistant(use()), user(result())), thinking: ENABLED },
    /^messages\.1\.content\.0\.type: Expected `thinking`/,
  ],
  [{ ...requestWith(USER, assistant(TEXT)), thinking: ENABLED }, /Expected `thinking`/],
  [{ ...BASE, temperature: 1.1 }, /^temperature: Input should be less than or equal to 1$/],
  [
    userTurn({ type: "image", source: base64("image/jpg") }),
    /image\.source\.base64\.media_type: Input should be 'image\/jpeg', 'image\/png', 'image\/gif' or 'image\/webp'/,
  ],
  [userTurn({ type: "image", source: base64("image/png", "a b=") }), /invalid base64 data/],
  [userTurn({ type: "image", source: { type: "url", url: "http://e/x.png" } }), /Only HTTPS URLs/],
  [userTurn({ type: "document", source: base64("text/plain") }), /Input should be 'application\/pdf'/],
  [
    userTurn(...Array.from({ length: 5 }, () => ({ ...TEXT, cache_control: MARK }))),
    /maximum of 4 blocks with cache_control may be provided\. Found 5/,
  ],
  [
    userTurn({ ...TEXT, cache_control: MARK }, { ...TEXT, cache_control: { ...MARK, ttl: "1h" } }),
    /must not come after a ttl='5m'/,
  ],
  [userTurn({ ...TEXT, cache_control: { type: "ephemeral", ttl: "30m" } }), /ttl: Input should be '5m' or '1h'/],
  [{ ...BASE, metadata: { user_id: "a@example.com" } }, /email address/],
  [{ ...BASE, metadata: { user_id: "+1 555 010 9999" } }, /phone number/],
  [
    { ...BASE, output_config: { format: { type: "json_schema", schema: { type: "object", properties: {} } } } },
    /^output_config\.format\.schema: For 'object' type, 'additionalProperties'/,
  ],
  [{ ...BASE, output_config: { effort: "minimal" } }, /^output_config\.effort: Input should be/],
];

for (const [body, message] of REFUSED) {
  test(`messages: a request is refused with ${message.source}`, () => {
    assert.match(refused(body) ?? "accepted", message);
  });
}

const ACCEPTED: Readonly<Record<string, unknown>> = {
  "consecutive turns of one role, merged": requestWith(
    USER,
    USER,
    assistant(TEXT),
    assistant(use(), use("b")),
    user(result("b")),
    user(result("a"), TEXT),
  ),
  "an empty result, and one with media": requestWith(
    USER,
    assistant(use(), use("b")),
    user(
      { type: "tool_result", tool_use_id: "a" },
      result("b", { content: [TEXT, { type: "image", source: base64("image/png") }], is_error: true }),
    ),
  ),
  "a prefill": requestWith(USER, { role: "assistant", content: "{" }),
  "an empty last turn of the assistant": requestWith(USER, { role: "assistant", content: "" }),
  "a mid-conversation system turn": requestWith(USER, { role: "system", content: "x" }, USER),
  "the model's own thinking, shown, omitted and redacted": requestWith(
    USER,
    assistant(
      THINKING,
      { type: "thinking", thinking: "", signature: omittedSignatureOf("hm") },
      { type: "redacted_thinking", data: redactedOf("hm") },
      use(),
    ),
    user(result()),
  ),
  "manual thinking in a loop that began with thinking": {
    ...requestWith(USER, assistant(THINKING, use()), user(result()), assistant(use("b")), user(result("b"))),
    thinking: ENABLED,
  },
  "adaptive thinking in a loop without thinking": {
    ...requestWith(USER, assistant(use()), user(result())),
    thinking: { type: "adaptive" },
  },
  "manual thinking after a turn without it": { ...requestWith(USER, assistant(TEXT), USER), thinking: ENABLED },
  "a request to generate nothing": { ...BASE, max_tokens: 0 },
  "a schema of everything that is enforced": answering(
    {
      anyOf: [
        { type: "array", minItems: 1, items: { $ref: "#/$defs/a" } },
        { type: "string", format: "date", pattern: "^a" },
        { $ref: "#/$defs/a" },
      ],
    },
    { a: { enum: [1, "x", null] } },
  ),
  "tools of every kind": {
    ...BASE,
    tools: [
      TOOL,
      { ...TOOL, name: "s", strict: true, input_schema: { ...SCHEMA, additionalProperties: false } },
      { type: "bash_20250124", name: "bash" },
      { type: "web_search_20250305", name: "web_search", max_uses: 1 },
    ],
  },
  "documents of every kind": userTurn(
    { type: "document", source: base64("application/pdf"), title: "t", citations: { enabled: true } },
    { type: "document", source: { type: "text", media_type: "text/plain", data: "x" } },
    { type: "document", source: { type: "url", url: "https://e/x.pdf" } },
    { type: "search_result", source: "s", title: "t", content: [TEXT] },
  ),
  "four cache marks, the longer lifetime first": {
    ...userTurn({ ...TEXT, cache_control: MARK }),
    tools: [{ ...TOOL, cache_control: { ...MARK, ttl: "1h" } }],
    system: [{ ...TEXT, cache_control: { ...MARK, ttl: "1h" } }],
    cache_control: MARK,
  },
};

for (const [what, body] of Object.entries(ACCEPTED)) {
  test(`messages: a request is accepted: ${what}`, () => {
    assert.equal(refused(body), undefined);
  });
}

test("the version is required, and the newest refuses sampling, assistant documents and user citations", () => {
  assert.equal(refused(BASE, {}), "anthropic-version: header is required");
  assert.match(refused(BASE, { "anthropic-version": "2" }) ?? "", /not a valid version/);
  assert.equal(refused(BASE, NEW), undefined);
  const document = { type: "document", source: base64("application/pdf") };
  const cited = { ...TEXT, citations: [{}] };
  const moved: readonly (readonly [unknown, RegExp])[] = [
    [{ ...BASE, temperature: 1 }, /^temperature: not supported with anthropic-version 2026-10-21$/],
    [{ ...BASE, top_k: 1 }, /^top_k/],
    [requestWith(USER, assistant(document), USER), /document blocks are not permitted in assistant/],
    [userTurn(cited), /citations are not permitted in user/],
    [userTurn({ type: "search_result", source: "s", title: "t", content: [cited] }), /citations are not permitted/],
  ];
  for (const [body, message] of moved) {
    assert.match(refused(body, NEW) ?? "accepted", message);
    assert.equal(refused(body), undefined);
  }
});

test("a model refuses what its name says it refuses", () => {
  const refusedBy = (model: string, more: object, messages: unknown[] = [USER]) =>
    refused({ ...BASE, ...more, messages }, OLD, model);
  assert.match(refusedBy("sim-no-sampling", { temperature: 0.5 }) ?? "", /`temperature` is deprecated/);
  assert.equal(refusedBy("sim-no-sampling", { temperature: 1 }), undefined);
  assert.match(refusedBy("sim-no-sampling-pair", { temperature: 1, top_p: 1 }) ?? "", /cannot both be specified/);
  assert.equal(refusedBy("sim-no-sampling-pair", { temperature: 1 }), undefined);
  assert.match(refusedBy("sim-no-prefill", {}, [USER, { role: "assistant", content: "x" }]) ?? "", /prefill/);
  assert.match(refusedBy("sim-adaptive-only", { thinking: ENABLED }) ?? "", /not supported for this model/);
  assert.equal(refusedBy("sim-adaptive-only", { thinking: { type: "adaptive" } }), undefined);
  assert.match(refusedBy("sim-budget-only", { thinking: { type: "adaptive" } }) ?? "", /not supported on this model/);
});

test("a beta header enables the members that need one", () => {
  const beta = { ...OLD, "anthropic-beta": "x" };
  assert.equal(refused({ ...BASE, mcp_servers: [], context_management: {} }, beta), undefined);
  // Claude Code 2.1.332 asks for this display.
  const updates = { ...BASE, thinking: { type: "adaptive", display: "updates" } };
  assert.equal(refused(updates, beta), undefined);
  assert.match(refused(updates) ?? "", /^thinking\.adaptive\.display: Input should be/);
});

test("counting refuses fields for answering only, and keeps the other rules", () => {
  const counted = (body: unknown, headers: Record<string, string> = OLD) =>
    refusalOf(() => checkCounted(asJson(body), headers))?.message;
  assert.match(counted(BASE) ?? "", /^max_tokens: Extra inputs/);
  const { max_tokens: _, ...count } = BASE;
  assert.equal(counted({ ...count, tools: [TOOL] }), undefined);
  assert.match(counted({ ...count, messages: [] }) ?? "", /at least one message/);
  assert.match(counted(count, {}) ?? "", /header is required/);
});

test("any JSON in any place is accepted or refused, and nothing else is thrown", () => {
  const member = fc.constantFrom(
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "metadata",
    "stop_sequences",
  );
  const value = fc.jsonValue();
  fc.assert(
    fc.property(member, value, value, value, (name, one, two, three) => {
      refused({ ...BASE, [name]: one });
      refused(requestWith(one));
      refused(
        userTurn(one, { type: "document", source: two }, { type: "tool_result", tool_use_id: "a", content: three }),
      );
      refused(requestWith(USER, assistant(use(), two), user(result("a", { content: three }))));
      refused({ ...BASE, tools: [one, { ...TOOL, input_schema: two }], cache_control: three });
    }),
    { verbose: 1 },
  );
});
