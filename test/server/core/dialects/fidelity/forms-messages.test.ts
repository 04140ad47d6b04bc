import {
  document,
  image,
  MARK,
  PDF,
  PLAIN,
  PNG,
  replays,
  result,
  says,
  TOOL,
  text,
  tools,
  USER,
} from "./messages-requests.ts";
import { testForms } from "./uses-table.ts";

const SEARCH = { type: "web_search_20250305", name: "web_search" };
const strict = (input_schema: unknown) => tools({ name: "f", input_schema, strict: true });
const closed = (properties: object) => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

testForms({
  dialect: "messages",
  plain: PLAIN,
  losses: [
    {
      title: "a fifth stop sequence",
      request: { stop_sequences: ["a", "b", "c", "d", "e"] },
      capability: "stop",
      place: "stop_sequences[4]",
    },
    ...[
      { title: "additionalProperties", schema: { type: "object", properties: {} } },
      { title: "a required property", schema: { ...closed({ a: {} }), required: [] } },
      { title: "additionalProperties within", schema: closed({ a: { type: "array", items: { type: "object" } } }) },
      {
        title: "a required property of a choice",
        schema: closed({ a: { anyOf: [{ ...closed({ b: {} }), required: [] }] } }),
      },
      { title: "an end", schema: closed({ a: { anyOf: Array(6000).fill({ type: "string" }) } }) },
    ].map(({ title, schema }) => ({
      title: `a strict tool whose schema lacks ${title}`,
      request: strict(schema),
      capability: "strict_tools" as const,
      place: "tools[0].input_schema",
    })),
    {
      title: "a choice of a tool that the provider runs",
      request: { ...tools(TOOL, SEARCH), tool_choice: { type: "tool", name: "web_search" } },
      capability: "tool_choice",
      place: "tool_choice.name",
    },
    {
      title: "a choice without a tool of the client's",
      request: { ...tools(SEARCH), tool_choice: { type: "any" } },
      capability: "tool_choice",
      place: "tool_choice",
    },
    ...["allowed_domains", "blocked_domains"].map((rule) => ({
      title: `a search with ${rule}`,
      request: tools({ ...SEARCH, [rule]: ["example.com"] }),
      capability: "web_search" as const,
      place: `tools[0].${rule}`,
    })),
    {
      title: "a location with more than is known",
      request: tools({ ...SEARCH, user_location: { street: "S" } }),
      capability: "unknown_field",
      place: "tools[0].user_location.street",
    },
    {
      title: "a second search",
      request: tools(SEARCH, { ...SEARCH, type: "web_search_20260209" }),
      capability: "web_search",
      place: "tools[1].type",
    },
    {
      title: "a bound on searches",
      request: tools({ ...SEARCH, max_uses: 3 }),
      capability: "hint",
      place: "tools[0].max_uses",
    },
    ...[
      { field: "eager_input_streaming", value: true },
      { field: "input_examples", value: [{ a: 1 }] },
    ].map(({ field, value }) => ({
      title: `a tool's ${field}`,
      request: tools({ ...TOOL, [field]: value }),
      capability: "hint" as const,
      place: `tools[0].${field}`,
    })),
    {
      title: "a cache mark on a tool",
      request: tools({ ...TOOL, cache_control: MARK }),
      capability: "prompt_caching",
      place: "tools[0].cache_control",
    },
    {
      title: "a cache mark on a tool's result",
      request: result({ cache_control: MARK }),
      capability: "prompt_caching",
      place: "messages[2].content[0].cache_control",
    },
    {
      title: "a cache mark within a tool's result",
      request: result({ content: [{ type: "text", text: "1", cache_control: MARK }] }),
      capability: "prompt_caching",
      place: "messages[2].content[0].content[0].cache_control",
    },
    {
      title: "a cache mark on a call",
      request: replays({ type: "tool_use", id: "t", name: "f", input: {}, cache_control: MARK }),
      capability: "prompt_caching",
      place: "messages[1].content[0].cache_control",
    },
    {
      title: "a fourth cache mark beside that of the whole request",
      request: {
        cache_control: MARK,
        ...says(...Array(4).fill({ type: "text", text: "a", cache_control: MARK })),
      },
      capability: "prompt_caching",
      place: "messages[0].content[3]",
    },
    ...[{ type: "url", url: "https://example.com/a.pdf" }, { type: "odd" }].map((source) => ({
      title: `a document by ${source.type}`,
      request: document(source),
      capability: "documents" as const,
      place: "messages[0].content[0].source.type",
    })),
    {
      title: "a document of blocks",
      request: document({ type: "content", content: [{ type: "text", text: "Hi" }] }),
      capability: "documents",
      place: "messages[0].content[0].source",
    },
    {
      title: "a document of another media type",
      request: document({ ...PDF, media_type: "application/zip" }),
      capability: "documents",
      place: "messages[0].content[0].source.media_type",
    },
    {
      title: "a document in the assistant's turn",
      request: replays({ type: "document", source: PDF }),
      capability: "documents",
      place: "messages[1].content[0].source",
    },
    {
      title: "a document's context",
      request: document(PDF, { context: "Of last year" }),
      capability: "hint",
      place: "messages[0].content[0].context",
    },
    {
      title: "the title of a text",
      request: document({ type: "text", media_type: "text/plain", data: "Hi" }, { title: "Letter" }),
      capability: "hint",
      place: "messages[0].content[0].title",
    },
    {
      title: "an image of another source",
      request: image({ type: "odd" }),
      capability: "vision",
      place: "messages[0].content[0].source.type",
    },
    {
      title: "an image's transformations",
      request: image(PNG, { transformations: { oversized_image: "resize" } }),
      capability: "hint",
      place: "messages[0].content[0].transformations",
    },
    {
      title: "thinking without a signature",
      request: replays({ type: "thinking", thinking: "Hm", signature: "" }),
      capability: "hint",
      place: "messages[1].content[0].thinking",
    },
    {
      title: "redacted thinking",
      request: replays({ type: "redacted_thinking", data: "ZGF0YQ==" }),
      capability: "hint",
      place: "messages[1].content[0].data",
    },
    {
      title: "effort without thinking",
      request: { thinking: { type: "disabled" }, output_config: { effort: "low" } },
      capability: "effort",
      place: "output_config.effort",
    },
    ...[
      { title: "other properties", schema: { type: "object", properties: {} } },
      { title: "a property to be absent", schema: { ...closed({ a: {} }), required: [] } },
      { title: "other properties within", schema: { type: "array", items: { type: "object" } } },
    ].flatMap(({ title, schema }) => [
      {
        title: `an answer whose schema allows ${title}`,
        request: { output_config: { format: { type: "json_schema", schema } } },
        capability: "hint" as const,
        place: "output_config.format.schema",
      },
      {
        title: `an answer by the older name whose schema allows ${title}`,
        request: { output_format: { type: "json_schema", schema } },
        capability: "hint" as const,
        place: "output_format.schema",
      },
    ]),
    {
      title: "a second format",
      request: {
        output_config: { format: { type: "json_schema", schema: {} } },
        output_format: { type: "json_schema", schema: {} },
      },
      capability: "hint",
      place: "output_format",
    },
    {
      title: "an address for mail",
      request: { metadata: { user_id: "a@b.example" } },
      capability: "user_id",
      place: "metadata.user_id",
    },
    {
      title: "a tier that is not known",
      request: { service_tier: "gold" },
      capability: "service_tier",
      place: "service_tier",
    },
    {
      title: "a tier beside speed",
      request: { service_tier: "standard_only", speed: "fast" },
      capability: "service_tier",
      place: "service_tier",
    },
    { title: "a speed that is not known", request: { speed: "slow" }, capability: "service_tier", place: "speed" },
    {
      title: "diagnostics",
      request: { diagnostics: { previous_message_id: "msg_1" } },
      capability: "hint",
      place: "diagnostics",
    },
    { title: "a list of betas", request: { betas: ["a-2026-01-01"] }, capability: "hint", place: "betas" },
    { title: "a field that is not known", request: { fallbacks: [] }, capability: "unknown_field", place: "fallbacks" },
    {
      title: "a setting of output that is not known",
      request: { output_config: { task_budget: 5 } },
      capability: "unknown_field",
      place: "output_config.task_budget",
    },
    {
      title: "metadata that is not known",
      request: { metadata: { team: "a" } },
      capability: "unknown_field",
      place: "metadata.team",
    },
    {
      title: "a member of a block that is not known",
      request: text({ "weight x": 2 }),
      capability: "unknown_field",
      place: "messages[0].content[0].weightx",
    },
    {
      title: "a block that is not known",
      request: says({ type: "video" }),
      capability: "unknown_field",
      place: "messages[0].content[0].type",
    },
    {
      title: "a block of the system prompt that is not known",
      request: {
        system: [
          { type: "text", text: "a" },
          { type: "image", source: PNG },
        ],
      },
      capability: "unknown_field",
      place: "system[1].type",
    },
    {
      title: "a block of a result that is not known",
      request: result({ content: [{ type: "text", text: "1" }, { type: "video" }] }),
      capability: "unknown_field",
      place: "messages[2].content[0].content[1].type",
    },
    {
      title: "a role that is not known",
      request: { messages: [USER, { role: "critic", content: "No." }] },
      capability: "unknown_field",
      place: "messages[1].role",
    },
    {
      title: "a tool that is not known",
      request: tools(TOOL, { type: "teleport_20270101" }),
      capability: "unknown_field",
      place: "tools[1].type",
    },
    {
      title: "a choice that is not known",
      request: { tool_choice: { type: "some" } },
      capability: "unknown_field",
      place: "tool_choice.type",
    },
    {
      title: "thinking that is not known",
      request: { thinking: { type: "deep" } },
      capability: "unknown_field",
      place: "thinking.type",
    },
  ],
  kept: [
    { title: "a strict tool with a closed schema", request: strict(closed({ a: closed({ b: { type: "string" } }) })) },
    {
      title: "an answer with a closed schema",
      request: { output_config: { format: { type: "json_schema", schema: closed({ a: closed({ b: {} }) }) } } },
    },
    { title: "a search alone", request: tools({ ...SEARCH, user_location: { type: "approximate", city: "Bonn" } }) },
    { title: "a forced tool of the client's", request: { ...tools(TOOL), tool_choice: { type: "tool", name: "f" } } },
    { title: "four stop sequences", request: { stop_sequences: ["a", "b", "c", " "] } },
    { title: "a PDF with a title", request: document(PDF, { title: "Letter", cache_control: MARK }) },
    {
      title: "an image that a tool gave",
      request: result({ content: [{ type: "image", source: PNG }], is_error: true }),
    },
    { title: "signed thinking", request: replays({ type: "thinking", thinking: "Hm", signature: "c2ln" }) },
    { title: "marks on system and turns", request: { system: [{ type: "text", text: "a", cache_control: MARK }] } },
    { title: "an unknown field that is null", request: { fallbacks: null } },
  ],
});
