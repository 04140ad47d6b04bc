import { MESSAGES_FIELDS } from "../../../../../../src/server/core/dialects/fidelity/known-fields.ts";
import {
  document,
  image,
  MARK,
  PDF,
  PLAIN,
  PNG,
  replays,
  result,
  TOOL,
  text,
  tools,
  USER,
  user,
} from "../messages-requests.ts";
import { testUses } from "../uses-table.ts";

const SEARCH = { type: "web_search_20250305", name: "web_search" };
const FILE = { type: "file", file_id: "file_1" };

testUses({
  dialect: "messages",
  plain: PLAIN,
  uses: [
    {
      capability: "tools",
      used: [tools(TOOL), tools({ ...TOOL, type: "custom" }), result({ content: "1" })],
      unused: [{ tools: [] }, { tools: null }, tools(SEARCH)],
    },
    {
      capability: "tool_choice",
      used: [{ tool_choice: { type: "any" } }, { tool_choice: { type: "tool", name: "f" } }],
      unused: [{ tool_choice: { type: "auto" } }, { tool_choice: { type: "none" } }, { tool_choice: null }],
    },
    {
      capability: "parallel_tool_calls",
      used: [{ tool_choice: { type: "auto", disable_parallel_tool_use: true } }],
      unused: [{ tool_choice: { type: "auto", disable_parallel_tool_use: false } }],
    },
    {
      capability: "strict_tools",
      used: [tools({ ...TOOL, strict: true })],
      unused: [tools({ ...TOOL, strict: false }), tools(TOOL)],
    },
    {
      capability: "builtin_tools",
      used: [
        ...["bash_20250124", "text_editor_20250728", "memory_20250818"].map((type) => tools({ type, name: "t" })),
        ...["computer_toolset_20260801", "browser_toolset_20260801"].map((type) => tools({ type })),
        result({ toolset_name: "browser" }),
        result({ content: [{ type: "browser_state", tabs: [] }] }),
      ],
      unused: [tools(TOOL), tools(SEARCH)],
    },
    {
      capability: "server_tools",
      used: [
        tools(SEARCH, { type: "web_fetch_20250910", name: "web_fetch" }),
        tools({ type: "code_execution_20260120", name: "code_execution" }),
        tools({ ...TOOL, allowed_callers: ["direct", "code_execution_20260120"] }),
        replays({ type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} }),
        replays({ type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] }),
        replays({ type: "tool_use", id: "t", name: "f", input: {}, caller: { type: "code_execution_20260120" } }),
        user({ type: "container_upload", file_id: "file_1" }),
        { container: "container_1" },
        { container: { skills: [] } },
        { mcp_servers: [{ type: "url", name: "s", url: "https://example.com" }] },
      ],
      unused: [
        tools(SEARCH),
        tools({ ...TOOL, allowed_callers: ["direct"] }),
        replays({ type: "tool_use", id: "t", name: "f", input: {}, caller: { type: "direct" } }),
        { container: null },
        { mcp_servers: [] },
      ],
    },
    {
      capability: "web_search",
      used: [tools(SEARCH), tools({ type: "web_search_20260318", name: "web_search" })],
      unused: [tools({ type: "web_fetch_20250910", name: "web_fetch" }), tools(TOOL)],
    },
    {
      capability: "tool_search",
      used: [
        tools({ ...TOOL, defer_loading: true }),
        tools({ type: "tool_search_tool_bm25", name: "tool_search_tool_bm25" }),
        replays({ type: "server_tool_use", id: "s", name: "tool_search_tool_bm25", input: {} }),
        replays({ type: "tool_search_tool_result", tool_use_id: "s", content: {} }),
        result({ content: [{ type: "tool_reference", tool_name: "f" }] }),
      ],
      unused: [tools({ ...TOOL, defer_loading: false }), tools(TOOL)],
    },
    {
      capability: "vision",
      used: [
        image(PNG),
        image({ type: "url", url: "https://example.com" }),
        image(FILE),
        result({ content: [{ type: "image", source: PNG }] }),
      ],
      unused: [document(PDF)],
    },
    {
      capability: "documents",
      used: [
        document(PDF),
        document({ type: "text", media_type: "text/plain", data: "Hi" }),
        document({ type: "content", content: "Hi" }),
        document({ type: "url", url: "https://example.com" }),
        result({ content: [{ type: "document", source: PDF }] }),
      ],
      unused: [image(PNG)],
    },
    {
      capability: "file_refs",
      used: [image(FILE), document(FILE), result({ content: [{ type: "image", source: FILE }] })],
      unused: [image(PNG), document(PDF)],
    },
    {
      capability: "tool_result_media",
      used: [
        result({ content: [{ type: "image", source: PNG }] }),
        result({ content: [{ type: "document", source: PDF }] }),
      ],
      unused: [result({ content: [{ type: "text", text: "1" }] }), image(PNG)],
    },
    {
      capability: "tool_errors",
      used: [result({ is_error: true })],
      unused: [result({ is_error: false }), result({ is_error: null })],
    },
    {
      capability: "json_schema",
      used: [
        { output_config: { format: { type: "json_schema", schema: {} } } },
        { output_format: { type: "json_schema", schema: {} } },
      ],
      unused: [{ output_config: { format: null } }, { output_format: null }],
    },
    {
      capability: "sampling",
      used: [{ temperature: 0 }, { top_p: 0.9 }],
      unused: [{ temperature: 1, top_p: 1 }, { temperature: null }],
    },
    {
      capability: "top_p_pair",
      used: [{ temperature: 0.5, top_p: 0.5 }],
      unused: [{ temperature: 0.5 }, { temperature: 0.5, top_p: 1 }],
    },
    { capability: "top_k", used: [{ top_k: 40 }], unused: [{ top_k: null }] },
    {
      capability: "stop",
      used: [{ stop_sequences: ["END"] }],
      unused: [{ stop_sequences: [] }, { stop_sequences: null }],
    },
    {
      capability: "thinking",
      used: [
        { thinking: { type: "enabled", budget_tokens: 1024 } },
        { thinking: { type: "adaptive" } },
        { thinking: { type: "between_tools" } },
      ],
      unused: [{ thinking: { type: "disabled" } }, { thinking: null }],
    },
    {
      capability: "thinking_budget",
      used: [{ thinking: { type: "enabled", budget_tokens: 1024 } }],
      unused: [{ thinking: { type: "adaptive" } }],
    },
    {
      capability: "thinking_forced_tool",
      used: [{ thinking: { type: "enabled", budget_tokens: 1024 }, tool_choice: { type: "any" } }],
      unused: [
        { thinking: { type: "disabled" }, tool_choice: { type: "any" } },
        { thinking: { type: "adaptive" }, tool_choice: { type: "auto" } },
      ],
    },
    {
      capability: "thinking_replay",
      used: [
        replays({ type: "thinking", thinking: "Hm", signature: "c2ln" }),
        replays({ type: "thinking", thinking: "", signature: "c2ln" }),
        replays({ type: "redacted_thinking", data: "ZGF0YQ==" }),
      ],
      unused: [replays({ type: "thinking", thinking: "Hm", signature: "" }), replays({ type: "text", text: "Hm" })],
    },
    {
      capability: "effort",
      used: [{ output_config: { effort: "high" } }],
      unused: [{ output_config: { effort: null } }, { output_config: {} }],
    },
    {
      capability: "prompt_caching",
      used: [
        { cache_control: MARK },
        { system: [{ type: "text", text: "Be brief.", cache_control: MARK }] },
        text({ cache_control: MARK }),
        image(PNG, { cache_control: MARK }),
        tools({ ...TOOL, cache_control: MARK }),
        result({ cache_control: MARK }),
        { messages: [{ role: "system", content: [{ type: "text", text: "a", cache_control: MARK }] }] },
      ],
      unused: [{ cache_control: null }, text({ cache_control: null })],
    },
    {
      capability: "cache_ttl",
      used: [{ cache_control: { ...MARK, ttl: "1h" } }, text({ cache_control: { ...MARK, ttl: "1h" } })],
      unused: [{ cache_control: MARK }, text({ cache_control: { ...MARK, ttl: "5m" } })],
    },
    { capability: "cache_prewarm", used: [{ max_tokens: 0 }], unused: [{ max_tokens: 1 }, { max_tokens: null }] },
    {
      capability: "citations",
      used: [
        document(PDF, { citations: { enabled: true } }),
        user({ type: "search_result", source: "s", title: "t", content: [] }),
        result({ content: [{ type: "search_result", source: "s", title: "t", content: [] }] }),
      ],
      unused: [document(PDF, { citations: { enabled: false } }), document(PDF, { citations: null })],
    },
    {
      capability: "citation_replay",
      used: [replays({ type: "text", text: "Hm", citations: [{ type: "char_location" }] })],
      unused: [
        replays({ type: "text", text: "Hm", citations: null }),
        replays({ type: "text", text: "", citations: [] }),
      ],
    },
    {
      capability: "prefill",
      used: [{ messages: [USER, { role: "assistant", content: "{" }] }],
      unused: [replays({ type: "text", text: "Hm" })],
    },
    {
      capability: "mid_system",
      used: [{ messages: [USER, { role: "system", content: "Now in French." }, USER] }],
      unused: [{ system: "Be brief." }],
    },
    {
      capability: "service_tier",
      used: [{ service_tier: "standard_only" }, { speed: "fast" }],
      unused: [
        { service_tier: "auto", speed: "standard" },
        { service_tier: null, speed: null },
      ],
    },
    { capability: "inference_geo", used: [{ inference_geo: "eu" }], unused: [{ inference_geo: null }] },
    {
      capability: "thread",
      used: [{ thread: { type: "create" } }, { thread: { type: "continue", previous_message_id: "msg_1" } }],
      unused: [{ thread: null }],
    },
    {
      capability: "user_id",
      used: [{ metadata: { user_id: "u-1" } }],
      unused: [{ metadata: { user_id: null } }, { metadata: {} }],
    },
    {
      capability: "context_management",
      used: [
        { context_management: { edits: [{ type: "compact_20260112" }] } },
        replays({ type: "compaction", content: "So far" }),
      ],
      unused: [
        { context_management: { edits: [] } },
        { context_management: null },
        { context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] } },
      ],
    },
    { capability: "streaming", used: [{ stream: true }], unused: [{ stream: false }] },
  ],
  vocabulary: [
    ...MESSAGES_FIELDS,
    ...["role", "content", "type", "text", "user", "assistant", "tool_use", "tool_result", "image", "document"],
    ...["source", "url", "file_id", "base64", "media_type", "citations", "thinking", "signature", "custom", "any"],
    ...["name", "strict", "input_schema", "web_search_20250305", "server_tool_use", "search_result", "__proto__"],
  ],
});
