/**
 * Shape of a request of the messages dialect: its members and their values.
 *
 * Sources: dialects.md sections 5.1 (fields, blocks, rules), 5.4 (counting), 8.3 (media types) and 8.1 (`user_id`); which
 * members may be null, and the members of rarer blocks, follow the types of the official SDK.
 */

import { Refused } from "../dialect-errors.ts";
import { enforcedFault } from "./enforced-schemas.ts";
import { isBase64, isHttpsUrl } from "./media-rules.ts";
import { MESSAGES } from "./messages-wording.ts";
import {
  anything,
  byType,
  choice,
  decimal,
  dictionary,
  type Fields,
  flag,
  list,
  nullable,
  object,
  type Rule,
  taggedUnion,
  text,
  whole,
  withCheck,
} from "./shape-rules.ts";
import { hasAlternativesAtTop } from "./strict-schemas.ts";

/** Rule of ids of calls and of their results; section 5.1. */
const ID = text({ pattern: /^[a-zA-Z0-9_-]+$/ });

const TOOL_NAME = text({ pattern: /^[a-zA-Z0-9_-]{1,128}$/ });

/** Maximum number of messages; section 5.1. */
const MAX_MESSAGES = 100_000;

const CACHE_CONTROL = nullable(object({ type: choice("ephemeral"), ttl: choice("5m", "1h") }, ["type"]));

const BLOCK: Fields = { type: anything, cache_control: CACHE_CONTROL };

const TEXT = object({ ...BLOCK, text: text(), citations: nullable(list(dictionary)) }, ["text"]);

const FULL_TEXT = withCheck(TEXT, (block, at) => {
  if (block["text"] === "") throw new Refused(400, `${at.split(".")[0]}: text content blocks must be non-empty`);
});

const base64Source = (...mediaTypes: readonly string[]): Rule =>
  withCheck(
    object({ type: anything, media_type: choice(...mediaTypes), data: text({ min: 1 }) }, ["media_type", "data"]),
    ({ data }, at) => {
      if (!isBase64(String(data))) throw new Refused(400, `${at}.data: invalid base64 data`);
    },
  );

const URL_SOURCE = withCheck(object({ type: anything, url: text({ min: 1 }) }, ["url"]), ({ url }, at) => {
  if (!isHttpsUrl(String(url))) throw new Refused(400, `${at}.url: Only HTTPS URLs are supported.`);
});

const FILE_SOURCE = object({ type: anything, file_id: text({ min: 1 }) }, ["file_id"]);

const IMAGE = object(
  {
    ...BLOCK,
    source: taggedUnion({
      base64: base64Source("image/jpeg", "image/png", "image/gif", "image/webp"),
      url: URL_SOURCE,
      file: FILE_SOURCE,
    }),
    transformations: nullable(dictionary),
  },
  ["source"],
);

const CITATIONS = nullable(object({ enabled: flag }));

const DOCUMENT = object(
  {
    ...BLOCK,
    source: taggedUnion({
      base64: base64Source("application/pdf"),
      text: object({ type: anything, media_type: choice("text/plain"), data: text({ min: 1 }) }, [
        "media_type",
        "data",
      ]),
      content: object(
        {
          type: anything,
          content: byType({ string: text(), array: list(taggedUnion({ text: FULL_TEXT, image: IMAGE })) }),
        },
        ["content"],
      ),
      url: URL_SOURCE,
      file: FILE_SOURCE,
    }),
    title: nullable(text({ max: 500 })),
    context: nullable(text()),
    citations: CITATIONS,
  },
  ["source"],
);

const SEARCH_RESULT = object(
  {
    ...BLOCK,
    content: list(taggedUnion({ text: FULL_TEXT }), { min: 1 }),
    source: text(),
    title: text(),
    citations: CITATIONS,
  },
  ["content", "source", "title"],
);

const CALLER = { caller: dictionary, toolset_name: nullable(text()) };

const TOOL_RESULT = object(
  {
    ...BLOCK,
    tool_use_id: ID,
    content: byType({
      string: text(),
      array: list(
        taggedUnion({
          text: FULL_TEXT,
          image: IMAGE,
          document: DOCUMENT,
          search_result: SEARCH_RESULT,
          tool_reference: object({ ...BLOCK, tool_name: text({ min: 1 }) }, ["tool_name"]),
          browser_state: dictionary,
        }),
      ),
    }),
    is_error: flag,
    toolset_name: nullable(text()),
  },
  ["tool_use_id"],
);

const ANSWER_OF_SERVER_TOOL = withCheck(dictionary, (block, at) => {
  for (const name of ["tool_use_id", "content"]) {
    if (block[name] === undefined) MESSAGES.refuse(`${at}.${name}`, { kind: "missing" });
  }
});

const BLOCKS: Fields = {
  text: FULL_TEXT,
  image: IMAGE,
  document: DOCUMENT,
  search_result: SEARCH_RESULT,
  thinking: object({ type: anything, thinking: text(), signature: text() }, ["signature", "thinking"]),
  redacted_thinking: object({ type: anything, data: text() }, ["data"]),
  tool_use: object({ ...BLOCK, ...CALLER, id: ID, name: text({ min: 1, max: 200 }), input: dictionary }, [
    "id",
    "input",
    "name",
  ]),
  tool_result: TOOL_RESULT,
  server_tool_use: object({ ...BLOCK, ...CALLER, id: ID, name: text({ min: 1 }), input: dictionary }, [
    "id",
    "input",
    "name",
  ]),
  web_search_tool_result: ANSWER_OF_SERVER_TOOL,
  web_fetch_tool_result: ANSWER_OF_SERVER_TOOL,
  code_execution_tool_result: ANSWER_OF_SERVER_TOOL,
  bash_code_execution_tool_result: ANSWER_OF_SERVER_TOOL,
  text_editor_code_execution_tool_result: ANSWER_OF_SERVER_TOOL,
  tool_search_tool_result: ANSWER_OF_SERVER_TOOL,
  container_upload: object({ ...BLOCK, file_id: text({ min: 1 }) }, ["file_id"]),
};

const CONTENT = byType({ string: text(), array: list(taggedUnion(BLOCKS)) });

const MESSAGE = object({ role: choice("user", "assistant", "system"), content: CONTENT }, ["content", "role"]);

const CUSTOM_TOOL = withCheck(
  object(
    {
      name: TOOL_NAME,
      description: text(),
      input_schema: withCheck(dictionary, (schema, at) => {
        const place = `${at}.type`;
        if (schema["type"] === undefined) MESSAGES.refuse(place, { kind: "missing" });
        if (schema["type"] !== "object") MESSAGES.refuse(place, { kind: "choice", choices: ["object"], value: null });
        if (hasAlternativesAtTop(schema)) {
          throw new Refused(400, `${at}: input_schema does not support oneOf, allOf, or anyOf at the top level`);
        }
      }),
      type: nullable(choice("custom")),
      strict: flag,
      cache_control: CACHE_CONTROL,
      defer_loading: flag,
      eager_input_streaming: nullable(flag),
      input_examples: list(dictionary),
      allowed_callers: list(text()),
    },
    ["input_schema", "name"],
  ),
  (tool, at) => {
    if (tool["strict"] === true) refuseUnenforced(tool["input_schema"], `${at}.input_schema`);
  },
);

/** Types of tools that run at the client or at the provider, by the beginning of their names; section 5.1. */
const TYPED_TOOL =
  /^(?:bash|text_editor|memory|computer|browser|computer_toolset|browser_toolset|web_search|web_fetch|code_execution|tool_search_tool(?:_bm25|_regex)?)_\d{8}$/;

const TOOL: Rule = (value, at, judge) => {
  const type = typeof value === "object" && value !== null && "type" in value ? value.type : null;
  if (type === null || type === "custom") return CUSTOM_TOOL(value, judge.form(at, "custom"), judge);
  if (typeof type === "string" && (TYPED_TOOL.test(type) || type === "mcp_toolset"))
    return dictionary(value, at, judge);
  judge.refuse(at, {
    kind: "tag",
    tag: "type",
    choices: ["bash_20250124", "custom", "web_search_20250305", "…"],
    value: type ?? null,
  });
};

const PARALLEL = { type: anything, disable_parallel_tool_use: flag };

const TOOL_CHOICE = taggedUnion({
  any: object(PARALLEL),
  auto: object(PARALLEL),
  none: object({ type: anything }),
  tool: object({ ...PARALLEL, name: text() }, ["name"]),
});

/** Returns the rule of `thinking`, which may be shown in the named ways. */
function thinkingOf(...displays: readonly string[]): Rule {
  const shown = { type: anything, display: nullable(choice(...displays)) };
  return taggedUnion({
    adaptive: object(shown),
    between_tools: object({ type: anything }),
    disabled: object({ type: anything }),
    enabled: object({ ...shown, budget_tokens: whole(1_024) }, ["budget_tokens"]),
  });
}

const FORMAT = taggedUnion({
  json_schema: withCheck(object({ type: anything, schema: dictionary }, ["schema"]), (format, at) => {
    refuseUnenforced(format["schema"], `${at.replace(/\.json_schema$/, "")}.schema`);
  }),
});

function refuseUnenforced(schema: unknown, at: string): void {
  const fault = enforcedFault(schema as Parameters<typeof enforcedFault>[0]);
  if (fault !== undefined) throw new Refused(400, `${at}: ${fault}`);
}

/** Rule of metadata. Refuses an id that looks like a person's email address or telephone number; section 8.1. */
const METADATA = withCheck(object({ user_id: nullable(text({ max: 256 })) }), ({ user_id: id }) => {
  if (typeof id !== "string") return;
  if (/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(id)) {
    throw new Refused(400, "metadata.user_id: user_id appears to contain an email address");
  }
  if (/^\+?\d[\d\s()-]{6,14}\d$/.test(id)) {
    throw new Refused(400, "metadata.user_id: user_id appears to contain a phone number");
  }
});

/** Members that are counted, section 5.4. The others only concern the answer. */
const COUNTED: Fields = {
  model: text({ min: 1 }),
  messages: list(MESSAGE, { max: MAX_MESSAGES }),
  system: byType({ string: text(), array: list(taggedUnion({ text: FULL_TEXT })) }),
  tools: list(TOOL),
  tool_choice: TOOL_CHOICE,
  thinking: thinkingOf("summarized", "omitted"),
  output_config: object({
    effort: nullable(choice("low", "medium", "high", "xhigh", "max")),
    format: nullable(FORMAT),
  }),
  cache_control: CACHE_CONTROL,
  speed: nullable(choice("standard", "fast")),
  user_profile_id: text(),
  workspace_id: text(),
};

/** Members of a request; section 5.1, the table. */
const FIELDS: Fields = {
  ...COUNTED,
  max_tokens: whole(0),
  stop_sequences: list(text()),
  stream: flag,
  temperature: decimal(0, 1),
  top_p: decimal(0, 1),
  top_k: whole(0),
  metadata: METADATA,
  service_tier: choice("auto", "standard_only"),
  inference_geo: nullable(text({ min: 1 })),
  container: nullable(
    byType({ string: text({ min: 1 }), object: object({ id: nullable(text()), skills: nullable(list(dictionary)) }) }),
  ),
  diagnostics: nullable(object({ previous_message_id: nullable(text()) })),
};

/** Members that are known only with the header `anthropic-beta`. */
const BETA: Fields = {
  mcp_servers: list(dictionary),
  context_management: nullable(dictionary),
  thinking: thinkingOf("summarized", "omitted", "updates"),
  output_format: nullable(FORMAT),
  thread: taggedUnion({
    create: object({ type: anything }),
    continue: object({ type: anything, previous_message_id: text({ min: 1 }) }, ["previous_message_id"]),
  }),
};

const REQUIRED = ["max_tokens", "messages", "model"];

export const MESSAGES_REQUEST: Rule = object(FIELDS, REQUIRED);
export const MESSAGES_BETA_REQUEST: Rule = object({ ...FIELDS, ...BETA }, REQUIRED);
export const COUNT_REQUEST: Rule = object(COUNTED, ["messages", "model"]);
export const COUNT_BETA_REQUEST: Rule = object({ ...COUNTED, ...BETA }, ["messages", "model"]);
