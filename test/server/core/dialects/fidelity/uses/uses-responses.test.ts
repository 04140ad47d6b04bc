/** Capabilities that a responses request uses, by the rows of the reference's sections 2 to 4, and their places. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Capability } from "../../../../../../src/server/core/dialects/fidelity/capabilities.ts";
import { placesOf, usesOf } from "../../../../../../src/server/core/dialects/fidelity/uses/uses.ts";
import type { Values } from "../../../../../../src/server/core/dialects/json/json-values.ts";

const item = (it: Values) => ({ input: [{ role: "user", content: "Hi" }, it] });
const messageWith = (part: Values) => ({ input: [{ role: "user", content: [part] }] });
const tool = (it: Values) => ({ tools: [it] });
const call = { type: "function_call", call_id: "c", name: "f", arguments: "{}" };

/** For either target, unless one is named. */
const USED: readonly (readonly [Capability, Values, place: string, to?: "messages" | "chat"])[] = [
  ["stored_responses", { previous_response_id: "resp_1" }, "previous_response_id"],
  ["stored_responses", { conversation: { id: "conv_1" } }, "conversation"],
  ["stored_responses", item({ type: "item_reference", id: "msg_1" }), "input[1]"],
  ["stored_responses", item({ id: "msg_1" }), "input[1]"],
  ["stored_responses", item({ type: null, id: "msg_1" }), "input[1]"],
  ["stored_prompts", { prompt: { id: "p" } }, "prompt"],
  ["background", { background: true }, "background"],
  ["compaction", item({ type: "compaction", encrypted_content: "gAAAA" }), "input[1]"],
  ["compaction", item({ type: "compaction_trigger" }), "input[1]"],
  ["programmatic_tools", item({ type: "program", call_id: "c", code: "x" }), "input[1]"],
  ["programmatic_tools", item({ ...call, caller: { type: "program" } }), "input[1].caller"],
  [
    "programmatic_tools",
    tool({ type: "function", name: "f", allowed_callers: ["programmatic"] }),
    "tools[0].allowed_callers",
  ],
  ["async_tools", tool({ type: "function", name: "f", async: true }), "tools[0].async"],
  ["async_tools", item({ ...call, async: true }), "input[1].async"],
  ["hosted_tools", tool({ type: "web_search", external_web_access: true }), "tools[0]"],
  ["hosted_tools", tool({ type: "tool_search", execution: "client" }), "tools[0]"],
  ["hosted_history", item({ type: "mcp_call", name: "x" }), "input[1]"],
  [
    "tool_grammar",
    tool({ type: "custom", name: "p", format: { type: "grammar", definition: "x" } }),
    "tools[0].format",
  ],
  ["tool_namespaces", tool({ type: "namespace", name: "n", tools: [] }), "tools[0]"],
  ["tool_namespaces", item({ ...call, namespace: "n" }), "input[1].namespace"],
  ["custom_tools", tool({ type: "custom", name: "p" }), "tools[0]"],
  ["custom_tools", item({ type: "custom_tool_call", call_id: "c", name: "p", input: "" }), "input[1]"],
  ["server_tools", item({ type: "mcp_approval_request" }), "input[1]"],
  ["builtin_tools", item({ type: "shell_call", call_id: "c" }), "input[1]"],
  ["builtin_tools", tool({ type: "apply_patch" }), "tools[0]"],
  ["web_search", { tool_choice: { type: "web_search_preview" } }, "tool_choice"],
  ["server_tools", { tool_choice: { type: "mcp", server_label: "m" } }, "tool_choice"],
  [
    "tool_result_media",
    item({
      type: "function_call_output",
      call_id: "c",
      output: [{ type: "input_image", image_url: "https://a.example/b" }],
    }),
    "input[1].output",
  ],
  ["file_refs", messageWith({ type: "input_image", file_id: "file_1" }), "input[0].content[0].file_id"],
  ["vision", messageWith({ type: "input_image", image_url: "https://a.example/b" }), "input[0].content[0].image_url"],
  ["thinking_replay", item({ type: "reasoning", summary: [], encrypted_content: "gAAAA" }), "input[1]"],
  ["strict_tools", tool({ type: "function", name: "f", strict: true }), "tools[0].strict"],
  ["thinking", { reasoning: { effort: "low" } }, "reasoning.effort"],
  ["verbosity", { text: { verbosity: "low" } }, "text.verbosity"],
  ["logprobs", { include: ["message.output_text.logprobs"] }, "include[0]"],
  ["store", { store: true }, "store"],
  ["moderation", { moderation: { model: "m" } }, "moderation"],
  ["cache_prewarm", { prompt_cache_options: { prewarm: true } }, "prompt_cache_options.prewarm"],
  [
    "prefill",
    {
      input: [
        { role: "user", content: "Hi" },
        { role: "assistant", content: "So" },
      ],
    },
    "input[1]",
  ],
];

for (const [capability, request, place, only] of USED) {
  test(`${capability} is used at ${place}: ${JSON.stringify(request).slice(0, 80)}`, () => {
    for (const to of only === undefined ? (["messages", "chat"] as const) : [only]) {
      assert.ok(usesOf("responses", request, to).capabilities.has(capability), to);
      assert.deepEqual([...placesOf("responses", request, capability, to).used], [place]);
    }
  });
}

const METADATA = "internal_chat_message_metadata_passthrough";
const metadata = { [METADATA]: { turn_id: "019a", source_kind: ["a"], at: 5, of: { client: "codex" }, off: null } };

/** Fields that clients add for themselves, on every kind of item. */
const UNKNOWN_OF_ITEMS: readonly (readonly [name: string, item: Values])[] = [
  [METADATA, { type: "message", role: "user", content: [{ type: "input_text", text: "x" }], ...metadata }],
  [METADATA, { type: "message", role: "assistant", content: [{ type: "output_text", text: "x" }], ...metadata }],
  [METADATA, { role: "developer", content: "x", ...metadata }],
  [METADATA, { ...call, ...metadata }],
  [METADATA, { type: "function_call_output", call_id: "c", output: "1", ...metadata }],
  [METADATA, { type: "custom_tool_call", call_id: "c", name: "p", input: "x", ...metadata }],
  [METADATA, { type: "custom_tool_call_output", call_id: "c", output: "1", ...metadata }],
  [METADATA, { type: "reasoning", summary: [], ...metadata }],
  ["created_at", { role: "user", content: "x", created_at: 1_764_000_000 }],
  ["agent", { role: "user", content: "x", agent: "planner" }],
  ["is_draft", { role: "user", content: "x", is_draft: true }],
  ["tags", { role: "user", content: "x", tags: ["a", "b"] }],
  ["output", { role: "user", content: "x", output: 0 }],
];

const LOST: readonly (readonly [Capability, Values, place: string, to?: "messages" | "chat"])[] = [
  ["unknown_field", { min_p: 1 }, "min_p"],
  ["unknown_field", item({ type: "brand_new" }), "input[1].type"],
  ["unknown_field", tool({ type: "brand_new" }), "tools[0].type"],
  ["unknown_field", messageWith({ type: "input_text", text: "x", cache: 1 }), "input[0].content[0].cache"],
  ["unknown_field", { tool_choice: "sometimes" }, "tool_choice"],
  ["unknown_field", item({ role: "user", content: "Hi", attachments: [{ text: "x" }] }), "input[1].attachments"],
  ["unknown_field", item({ role: "user", content: "Hi", extra: { deep: { content: "x" } } }), "input[1].extra"],
  ["unknown_field", item({ role: "user", content: "Hi", note: "x".repeat(2_000) }), "input[1].note"],
  ["unknown_field", item({ ...call, input: { a: 1 } }), "input[1].input"],
  [
    "unknown_field",
    item({ type: "function_call_output", call_id: "c", output: "1", image_url: "x" }),
    "input[1].image_url",
  ],
  ...UNKNOWN_OF_ITEMS.map(([name, it]) => ["hint", item(it), `input[1].${name}`] as const),
  ["hint", { include: ["brand_new"] }, "include[0]"],
  ["hint", { reasoning: { context: "all" } }, "reasoning"],
  ["hint", { stream_options: { include_obfuscation: true } }, "stream_options.include_obfuscation"],
  ["hint", item({ type: "reasoning", summary: [{ type: "summary_text", text: "x" }] }), "input[1]"],
  ["hint", tool({ type: "function", name: "f", defer_loading: true }), "tools[0].defer_loading"],
  ["hint", item({ ...call, arguments: "{oops" }), "input[1].arguments", "messages"],
  [
    "documents",
    messageWith({ type: "input_file", file_url: "https://a.example/b.pdf" }),
    "input[0].content[0].file_url",
    "chat",
  ],
  ["documents", messageWith({ type: "input_file", file_data: "zzz" }), "input[0].content[0].file_data"],
  [
    "vision",
    messageWith({ type: "input_image", image_url: "http://a.example/b" }),
    "input[0].content[0].image_url",
    "messages",
  ],
  ["user_id", { user: "a@example.com" }, "user"],
  ["service_tier", { service_tier: "flex" }, "service_tier", "messages"],
  ["tool_choice", { tool_choice: "required" }, "tool_choice"],
  ["sampling", { reasoning: { effort: "low" }, temperature: 0.5 }, "temperature", "messages"],
];

for (const [capability, request, place, only] of LOST) {
  test(`${capability} is lost at ${place}${only === undefined ? "" : ` to ${only}`}`, () => {
    for (const to of only === undefined ? (["messages", "chat"] as const) : [only]) {
      assert.equal(usesOf("responses", request, to).untranslatable.get(capability), place, to);
    }
  });
}

const NOTHING: readonly Values[] = [
  {
    previous_response_id: null,
    prompt: null,
    conversation: null,
    background: false,
    store: false,
    truncation: "disabled",
  },
  { include: [], metadata: {}, tools: [], tool_choice: "auto", parallel_tool_calls: true, client_metadata: { a: "b" } },
  {
    include: ["reasoning.encrypted_content", "web_search_call.action.sources"],
    stream_options: { include_obfuscation: false },
  },
  { text: {}, reasoning: {}, top_logprobs: 0, temperature: 1, top_p: 1, service_tier: "auto", stream: false },
  { text: { format: { type: "text" }, verbosity: "medium" }, reasoning: { effort: null, summary: "auto" } },
  { tools: [], parallel_tool_calls: false, tool_choice: "none" },
  {
    input: [
      { role: "developer", content: "x" },
      { type: "message", role: "user", id: "msg_1", status: "completed", content: "Hi" },
    ],
  },
];

test("an explicit default is not a use", () => {
  for (const request of NOTHING) {
    for (const to of ["messages", "chat"] as const) {
      const { capabilities, untranslatable } = usesOf("responses", { input: "Hi", ...request }, to);
      assert.deepEqual([[...capabilities], [...untranslatable]], [[], []], JSON.stringify(request));
    }
  }
});

test("a request that passes as bytes is not checked", () => {
  const request = { input: [{ type: "item_reference", id: "msg_1" }], background: true, min_p: 1 };
  assert.deepEqual([...usesOf("responses", request, "responses").capabilities], []);
});
