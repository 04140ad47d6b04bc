import { CHAT_FIELDS } from "../../../../../../src/server/core/dialects/fidelity/known-fields.ts";
import { called, FUNCTION, file, image, PDF, PLAIN, PNG, replays, text, USER, user } from "../compat-requests.ts";
import { testUses } from "../uses-table.ts";

testUses({
  dialect: "compat",
  plain: PLAIN,
  uses: [
    {
      capability: "tools",
      used: [{ tools: [{ type: "function", function: FUNCTION }] }, { functions: [FUNCTION] }, called()],
      unused: [{ tools: [] }, { tools: null, functions: [] }, replays({ tool_calls: [] })],
    },
    {
      capability: "tool_choice",
      used: [
        { tool_choice: "required" },
        { tool_choice: { type: "function", function: { name: "f" } } },
        { tool_choice: { type: "allowed_tools", allowed_tools: { mode: "required", tools: [] } } },
        { function_call: { name: "f" } },
      ],
      unused: [
        { tool_choice: "auto" },
        { tool_choice: "none" },
        { tool_choice: null },
        { tool_choice: { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [] } } },
        { function_call: "auto" },
      ],
    },
    {
      capability: "allowed_tools",
      used: [{ tool_choice: { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [] } } }],
      unused: [{ tool_choice: "auto" }],
    },
    {
      capability: "parallel_tool_calls",
      used: [{ parallel_tool_calls: false }],
      unused: [{ parallel_tool_calls: true }, { parallel_tool_calls: null }],
    },
    {
      capability: "strict_tools",
      used: [
        { tools: [{ type: "function", function: { ...FUNCTION, strict: true } }] },
        { functions: [{ ...FUNCTION, strict: true }] },
      ],
      unused: [{ tools: [{ type: "function", function: { ...FUNCTION, strict: false } }] }],
    },
    {
      capability: "custom_tools",
      used: [
        { tools: [{ type: "custom", custom: { name: "c" } }] },
        { tool_choice: { type: "custom", custom: { name: "c" } } },
        called({ tool_calls: [{ id: "call_1", type: "custom", custom: { name: "c", input: "x" } }] }),
      ],
      unused: [{ tools: [{ type: "function", function: FUNCTION }] }],
    },
    {
      capability: "web_search",
      used: [{ web_search_options: {} }],
      unused: [{ web_search_options: null }],
    },
    {
      capability: "vision",
      used: [image("https://example.com/a.png"), image(PNG), user({ type: "image_url", image_url: PNG })],
      unused: [text({}), image(PDF)],
    },
    {
      capability: "documents",
      used: [file({ filename: "a.pdf", file_data: PDF }), image(PDF)],
      unused: [file({ file_id: "file_1" }), file({ file_data: null }), image(PNG)],
    },
    {
      capability: "file_refs",
      used: [file({ file_id: "file_1" })],
      unused: [file({ file_data: PDF, file_id: null })],
    },
    {
      capability: "audio_input",
      used: [user({ type: "input_audio", input_audio: { data: "AAAA", format: "wav" } })],
      unused: [text({})],
    },
    {
      capability: "audio_output",
      used: [
        { modalities: ["text", "audio"] },
        { audio: { voice: "alloy", format: "wav" } },
        replays({ audio: { id: "audio_1" } }),
      ],
      unused: [{ modalities: ["text"] }, { audio: null }, replays({ audio: null })],
    },
    {
      capability: "json_schema",
      used: [{ response_format: { type: "json_schema", json_schema: { name: "s", schema: {} } } }],
      unused: [{ response_format: { type: "text" } }, { response_format: null }],
    },
    {
      capability: "json_object",
      used: [{ response_format: { type: "json_object" } }],
      unused: [{ response_format: { type: "text" } }],
    },
    {
      capability: "sampling",
      used: [{ temperature: 0 }, { temperature: 1.5 }, { top_p: 0.9 }],
      unused: [{ temperature: 1, top_p: 1 }, { temperature: null }, { top_p: null }],
    },
    { capability: "temperature_above_one", used: [{ temperature: 1.1 }], unused: [{ temperature: 1 }] },
    {
      capability: "top_p_pair",
      used: [{ temperature: 0.5, top_p: 0.5 }],
      unused: [
        { temperature: 0.5, top_p: 1 },
        { temperature: 1, top_p: 0.5 },
        { temperature: null, top_p: 0.5 },
      ],
    },
    { capability: "top_k", used: [{ top_k: 40 }], unused: [{ top_k: null }, { top_k: 0 }, { top_k: -1 }] },
    {
      capability: "penalties",
      used: [{ frequency_penalty: -1 }, { presence_penalty: 0.1 }],
      unused: [{ frequency_penalty: 0, presence_penalty: 0 }, { presence_penalty: null }],
    },
    {
      capability: "logit_bias",
      used: [{ logit_bias: { "50256": -100 } }],
      unused: [{ logit_bias: {} }, { logit_bias: null }],
    },
    {
      capability: "logprobs",
      used: [{ logprobs: true }, { top_logprobs: 3 }],
      unused: [{ logprobs: false }, { logprobs: null, top_logprobs: 0 }],
    },
    { capability: "n", used: [{ n: 2 }], unused: [{ n: 1 }, { n: null }] },
    { capability: "seed", used: [{ seed: 0 }], unused: [{ seed: null }] },
    { capability: "stop", used: [{ stop: "END" }, { stop: ["a", "b"] }], unused: [{ stop: null }, { stop: [] }] },
    {
      capability: "prediction",
      used: [{ prediction: { type: "content", content: "Hi" } }],
      unused: [{ prediction: null }],
    },
    {
      capability: "verbosity",
      used: [{ verbosity: "low" }],
      unused: [{ verbosity: "medium" }, { verbosity: null }],
    },
    {
      capability: "thinking",
      used: [
        { reasoning_effort: "low" },
        { thinking: { type: "enabled", budget_tokens: 2048 } },
        { reasoning: { effort: "high" } },
        { reasoning: { max_tokens: 2000 } },
        { reasoning: { enabled: true } },
      ],
      unused: [
        { reasoning_effort: null },
        { reasoning_effort: "none" },
        { thinking: { type: "disabled" } },
        { reasoning: {} },
        { reasoning: { enabled: false } },
      ],
    },
    {
      capability: "thinking_budget",
      used: [{ reasoning: { max_tokens: 2000 } }, { thinking: { type: "enabled", budget_tokens: 2048 } }],
      unused: [{ reasoning: { effort: "low", max_tokens: null } }, { thinking: { type: "adaptive" } }],
    },
    {
      capability: "thinking_forced_tool",
      used: [
        { reasoning_effort: "low", tool_choice: "required" },
        { thinking: { type: "enabled", budget_tokens: 2048 }, function_call: { name: "f" } },
      ],
      unused: [
        { reasoning_effort: "low", tool_choice: "auto" },
        { reasoning_effort: "none", tool_choice: "required" },
      ],
    },
    {
      capability: "thinking_replay",
      used: [
        replays({ reasoning_details: [{ type: "reasoning.text", text: "Hm", signature: "c2ln", index: 0 }] }),
        replays({ reasoning_details: [{ type: "reasoning.encrypted", data: "ZGF0YQ==" }] }),
        replays({ thinking_blocks: [{ type: "thinking", thinking: "Hm", signature: "c2ln" }] }),
        replays({ thinking_blocks: [{ type: "redacted_thinking", data: "ZGF0YQ==" }] }),
      ],
      unused: [
        replays({ reasoning_details: [{ type: "reasoning.text", text: "Hm", signature: "" }] }),
        replays({ reasoning_content: "Hm" }),
        replays({ reasoning_details: [], thinking_blocks: null }),
      ],
    },
    {
      capability: "effort",
      used: [{ reasoning_effort: "medium" }, { reasoning_effort: "none" }, { reasoning: { effort: "low" } }],
      unused: [{ reasoning_effort: null }, { reasoning: { effort: null } }],
    },
    {
      capability: "prompt_caching",
      used: [
        text({ prompt_cache_breakpoint: { mode: "explicit" } }),
        text({ cache_control: { type: "ephemeral" } }),
        { messages: [{ ...USER, cache_control: { type: "ephemeral" } }] },
        { tools: [{ type: "function", function: FUNCTION, cache_control: { type: "ephemeral" } }] },
      ],
      unused: [text({ prompt_cache_breakpoint: null }), { prompt_cache_options: { mode: "implicit" } }],
    },
    {
      capability: "cache_ttl",
      used: [
        text({ prompt_cache_breakpoint: { mode: "explicit", ttl: "30m" } }),
        text({ cache_control: { type: "ephemeral", ttl: "1h" } }),
        { prompt_cache_options: { mode: "implicit", ttl: "30m" } },
      ],
      unused: [
        text({ prompt_cache_breakpoint: { mode: "explicit" } }),
        text({ cache_control: { type: "ephemeral", ttl: "5m" } }),
      ],
    },
    {
      capability: "prefill",
      used: [{ messages: [USER, { role: "assistant", content: "{" }] }],
      unused: [replays({}), { messages: [] }],
    },
    {
      capability: "mid_system",
      used: [
        { messages: [USER, { role: "system", content: "Now in French." }, USER] },
        { messages: [USER, { role: "developer", content: "Now in French." }] },
      ],
      unused: [
        {
          messages: [{ role: "system", content: "a" }, { role: "developer", content: "b" }, USER],
        },
      ],
    },
    {
      capability: "service_tier",
      used: ["flex", "scale", "priority", "fast"].map((service_tier) => ({ service_tier })),
      unused: [{ service_tier: "auto" }, { service_tier: "default" }, { service_tier: null }],
    },
    { capability: "store", used: [{ store: true }], unused: [{ store: false }, { store: null }] },
    { capability: "metadata", used: [{ metadata: { a: "b" } }], unused: [{ metadata: {} }, { metadata: null }] },
    {
      capability: "user_id",
      used: [{ user: "u-1" }, { safety_identifier: "u-1" }],
      unused: [{ user: null }, { user: "" }],
    },
    { capability: "moderation", used: [{ moderation: { model: "m" } }], unused: [{ moderation: null }] },
    { capability: "streaming", used: [{ stream: true }], unused: [{ stream: false }, { stream: null }] },
    {
      capability: "stream_usage",
      used: [{ stream: true, stream_options: { include_usage: true } }],
      unused: [{ stream_options: { include_usage: false } }, { stream_options: { include_obfuscation: false } }],
    },
  ],
  vocabulary: [
    ...CHAT_FIELDS,
    ...["role", "content", "type", "text", "user", "assistant", "system", "tool", "function", "custom", "image_url"],
    ...["url", "file", "file_data", "tool_calls", "arguments", "strict", "parameters", "allowed_tools", "mode", "ttl"],
    ...["reasoning_details", "thinking_blocks", "signature", "cache_control", "function_call", "__proto__", "enabled"],
  ],
});
