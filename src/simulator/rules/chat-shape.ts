/**
 * Shape of a chat request of the compat dialect: its members and their values.
 *
 * Sources: dialects.md sections 3.1 (fields, messages, extensions of other providers), 8.6 (cache marks) and 8.2 (the length of
 * `user`); which members may be null follows the types of the official SDK; the limit of call ids and the pattern of a
 * message's `name` follow recorded refusals.
 */

import { Refused } from "../dialect-errors.ts";
import { isBase64, isHttpUrl, readDataUrl } from "./media-rules.ts";
import {
  anything,
  byType,
  choice,
  decimal,
  dictionary,
  type Fields,
  flag,
  list,
  mapOf,
  nullable,
  object,
  type Rule,
  taggedUnion,
  text,
  whole,
  withCheck,
} from "./shape-rules.ts";

/** Rule of names, section 3.1: `[A-Za-z0-9_-]{1,64}`. */
const NAME = text({ min: 1, max: 64, pattern: /^[a-zA-Z0-9_-]+$/ });

const SESSION_PROTOCOL = text({ min: 1, max: 64, pattern: /^[^\s<|\\/>]+$/ });

const CALL_ID = text({ min: 1, max: 64 });

const IMAGE_TYPES = new Set(["image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp"]);

/** Media types of files, sections 3.1 and 8.3: PDF and text; office documents are read as text. */
const FILE_TYPE = /^(?:application\/(?:pdf|json|vnd\.openxmlformats-officedocument\.[a-z.]+)|text\/[a-z0-9.+-]+)$/;

const CACHE_MARK: Fields = {
  prompt_cache_breakpoint: object({ mode: choice("explicit"), ttl: choice("30m", "12h") }, ["mode"]),
};

/** Cache mark, an extension; section 8.6, last row. */
const CACHE_CONTROL: Fields = { cache_control: dictionary };

function partsOf(extensions: Fields): Record<"text" | "refusal" | "image_url" | "input_audio" | "file", Rule> {
  const mark = { type: anything, ...CACHE_MARK, ...extensions };
  const image = object({ url: text({ min: 1 }), detail: choice("auto", "low", "high", "original") }, ["url"]);
  const audio = object({ data: text({ min: 1 }), format: choice("wav", "mp3") }, ["data", "format"]);
  const file = object({ file_id: text({ min: 1 }), filename: text({ min: 1 }), file_data: text({ min: 1 }) });
  return {
    text: object({ text: text(), ...mark }, ["text"]),
    refusal: object({ type: anything, refusal: text() }, ["refusal"]),
    image_url: object({ image_url: withCheck(image, ({ url }, at) => checkImage(String(url), `${at}.url`)), ...mark }, [
      "image_url",
    ]),
    input_audio: object(
      { input_audio: withCheck(audio, ({ data }, at) => checkAudio(String(data), `${at}.data`)), ...mark },
      ["input_audio"],
    ),
    file: object({ file: withCheck(file, (read, at) => checkFile(read["file_id"], read["file_data"], at)), ...mark }, [
      "file",
    ]),
  };
}

function checkImage(url: string, at: string): void {
  if (isHttpUrl(url)) return;
  const read = readDataUrl(url);
  if (read === undefined) {
    const message =
      "Invalid image URL. Expected a valid HTTP or HTTPS URL, or a data URL with base64-encoded image data.";
    throw new Refused(400, message, at, "invalid_image_url");
  }
  if (!IMAGE_TYPES.has(read.mediaType)) {
    const message =
      "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].";
    throw new Refused(400, message, at, "invalid_image_format");
  }
}

function checkAudio(data: string, at: string): void {
  if (!isBase64(data)) throw new Refused(400, `Invalid '${at}': expected base64-encoded audio.`, at, "invalid_value");
}

function checkFile(id: unknown, data: unknown, at: string): void {
  if (id === undefined && data === undefined) {
    const place = `${at}.file_id`;
    throw new Refused(400, `Missing required parameter: '${place}'.`, place, "missing_required_parameter");
  }
  if (id !== undefined && data !== undefined) {
    const message = `Mutually exclusive parameters: '${at}'. Ensure you are only providing one of: 'file_id' or 'file_data'.`;
    throw new Refused(400, message, at, "mutually_exclusive_parameters");
  }
  const read = typeof data === "string" ? readDataUrl(data) : undefined;
  if (data !== undefined && (read === undefined || !FILE_TYPE.test(read.mediaType))) {
    const place = `${at}.file_data`;
    const got = read === undefined ? "no such data URL" : `unsupported MIME type '${read.mediaType}'`;
    const message =
      `Invalid file data: '${place}'. Expected a base64-encoded data URL with a supported MIME type ` +
      `(e.g. 'data:application/pdf;base64,aGVsbG8='), but got ${got}.`;
    throw new Refused(400, message, place, "invalid_value");
  }
}

/**
 * Returns the rule of the list of messages, section 3.1. `replay`: additional members of an assistant's turn, for
 * servers with extensions.
 */
function messagesRule(extensions: Fields, replay: Fields): Rule {
  const { text: textPart, refusal, image_url, input_audio, file } = partsOf(extensions);
  const texts = list(taggedUnion({ text: textPart }), { min: 1 });
  const content = byType({ string: text(), array: texts });
  const head = { role: anything, name: SESSION_PROTOCOL };
  const userParts = list(taggedUnion({ text: textPart, image_url, input_audio, file }), { min: 1 });
  // The official SDK's helpers send a parsed answer back with the members that they added.
  const called = object({ name: NAME, arguments: text(), parsed_arguments: anything }, ["name", "arguments"]);
  const toolCall = taggedUnion({
    function: object({ id: CALL_ID, type: anything, function: called }, ["id", "function"]),
    custom: object({ id: CALL_ID, type: anything, custom: object({ name: NAME, input: text() }, ["name", "input"]) }, [
      "id",
      "custom",
    ]),
  });
  const assistant: Fields = {
    ...head,
    content: nullable(byType({ string: text(), array: list(taggedUnion({ text: textPart, refusal }), { min: 1 }) })),
    refusal: nullable(text()),
    tool_calls: list(toolCall, { min: 1, max: 128 }),
    function_call: nullable(object({ name: NAME, arguments: text() }, ["name", "arguments"])),
    audio: nullable(object({ id: text({ min: 1 }) }, ["id"])),
    // Clients that keep a whole message send these members of an answer back.
    annotations: list(anything),
    reasoning_content: nullable(text()),
    parsed: anything,
    provider_specific_fields: anything,
    ...replay,
  };
  const system = object({ ...head, content }, ["content"]);
  const forms = {
    system,
    assistant: object(assistant),
    user: object({ ...head, content: byType({ string: text(), array: userParts }) }, ["content"]),
    function: object({ role: anything, name: NAME, content: nullable(text()) }, ["name", "content"]),
    // Agent frameworks name the tool; the provider reads the name from the call.
    tool: object({ role: anything, content, tool_call_id: CALL_ID, name: text() }, ["content", "tool_call_id"]),
    developer: system,
  };
  return list(taggedUnion(forms, "role"), { min: 1 });
}

const FUNCTION = object({ name: NAME, description: text(), parameters: nullable(dictionary), strict: nullable(flag) }, [
  "name",
]);

const TOOL = taggedUnion({
  function: object({ type: anything, function: FUNCTION }, ["function"]),
  custom: object(
    {
      type: anything,
      custom: object(
        {
          name: NAME,
          description: text(),
          format: taggedUnion({
            text: object({ type: anything }),
            grammar: object(
              {
                type: anything,
                grammar: object({ definition: text(), syntax: choice("lark", "regex") }, ["definition", "syntax"]),
              },
              ["grammar"],
            ),
          }),
        },
        ["name"],
      ),
    },
    ["custom"],
  ),
});

const NAMED = object({ name: NAME }, ["name"]);

const TOOL_CHOICE = byType({
  string: choice("none", "auto", "required"),
  object: taggedUnion({
    function: object({ type: anything, function: NAMED }, ["function"]),
    custom: object({ type: anything, custom: NAMED }, ["custom"]),
    allowed_tools: object(
      {
        type: anything,
        allowed_tools: object({ mode: choice("auto", "required"), tools: list(dictionary, { min: 1 }) }, [
          "mode",
          "tools",
        ]),
      },
      ["allowed_tools"],
    ),
  }),
});

const RESPONSE_FORMAT = taggedUnion({
  text: object({ type: anything }),
  json_object: object({ type: anything }),
  json_schema: object(
    {
      type: anything,
      json_schema: object({ name: NAME, description: text(), schema: dictionary, strict: nullable(flag) }, ["name"]),
    },
    ["json_schema"],
  ),
});

/** Members of a request in the order of the table in section 3.1. */
const FIELDS: Fields = {
  model: text({ min: 1 }),
  max_completion_tokens: nullable(whole(1)),
  max_tokens: nullable(whole(1)),
  temperature: nullable(decimal(0, 2)),
  top_p: nullable(decimal(0, 1)),
  n: nullable(whole(1, 128)),
  stop: nullable(byType({ string: text(), array: list(text(), { min: 1, max: 4 }) })),
  frequency_penalty: nullable(decimal(-2, 2)),
  presence_penalty: nullable(decimal(-2, 2)),
  logit_bias: nullable(mapOf(decimal(-100, 100))),
  logprobs: nullable(flag),
  top_logprobs: nullable(whole(0, 20)),
  seed: nullable(whole()),
  stream: nullable(flag),
  stream_options: nullable(object({ include_usage: flag, include_obfuscation: flag })),
  // Some agents send an empty list if they have no tools.
  tools: list(TOOL, { max: 128 }),
  tool_choice: TOOL_CHOICE,
  parallel_tool_calls: flag,
  functions: list(FUNCTION, { min: 1, max: 128 }),
  function_call: byType({ string: choice("none", "auto"), object: NAMED }),
  response_format: RESPONSE_FORMAT,
  reasoning_effort: nullable(choice("none", "minimal", "low", "medium", "high", "xhigh", "max")),
  verbosity: nullable(choice("low", "medium", "high")),
  modalities: nullable(list(choice("text", "audio"))),
  audio: nullable(
    object({ voice: anything, format: choice("wav", "aac", "mp3", "flac", "opus", "pcm16") }, ["voice", "format"]),
  ),
  prediction: nullable(
    taggedUnion({
      content: object(
        { type: anything, content: byType({ string: text(), array: list(taggedUnion({ text: partsOf({}).text })) }) },
        ["content"],
      ),
    }),
  ),
  web_search_options: object({
    search_context_size: choice("low", "medium", "high"),
    user_location: nullable(dictionary),
  }),
  service_tier: nullable(choice("auto", "default", "flex", "scale", "priority", "fast")),
  store: nullable(flag),
  metadata: nullable(mapOf(text({ max: 512 }), { max: 16, maxKey: 64 })),
  user: text({ max: 64 }),
  safety_identifier: nullable(text({ max: 64 })),
  prompt_cache_key: nullable(text({ max: 64 })),
  prompt_cache_retention: nullable(choice("in_memory", "24h")),
  prompt_cache_options: object({ mode: choice("implicit", "explicit"), ttl: choice("30m") }),
  moderation: nullable(object({ model: text({ min: 1 }), policy: anything }, ["model"])),
};

/** Widely used extensions; section 3.1. */
const EXTENSIONS: Fields = {
  top_k: nullable(whole()),
  min_p: nullable(decimal(0, 1)),
  repetition_penalty: nullable(decimal(0, 2)),
  thinking: object({ type: choice("enabled", "disabled", "adaptive"), budget_tokens: whole(1) }, ["type"]),
  reasoning: object({ effort: text(), max_tokens: whole(1), exclude: flag, enabled: flag }),
  chat_template_kwargs: dictionary,
  guided_json: byType({ string: text(), object: dictionary }),
};

/**
 * Reasoning members that an assistant's turn may send back, in addition to the `reasoning_content` of this provider's answers.
 */
const REASONING_REPLAY: Fields = {
  reasoning: nullable(text()),
  reasoning_details: nullable(list(dictionary)),
  thinking_blocks: nullable(list(dictionary)),
};

const REQUIRED = ["messages", "model"];

export const CHAT: Rule = object({ ...FIELDS, messages: messagesRule({}, {}) }, REQUIRED);

/** Rule that also accepts the extensions. */
export const CHAT_WITH_EXTENSIONS: Rule = object(
  { ...FIELDS, ...EXTENSIONS, messages: messagesRule(CACHE_CONTROL, REASONING_REPLAY) },
  REQUIRED,
);
