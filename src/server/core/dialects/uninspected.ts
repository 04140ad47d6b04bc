/**
 * Strings of requests and answers that are not inspected, with the reason why each is not text. Readers of requests and answers
 * skip only what is listed here: a member without a row is inspected. The table in `docs/concepts/inspected-text.md` is generated from this
 * one. Source: design decisions, section 11.
 */

/**
 * Place of the member. `settings`: at the top level of a body, a thread or a session, and within its settings. `messages`: in
 * messages, items and their parts. `calls`: in tool calls there. `tools`, `schemas`: in descriptions of tools and of answer
 * formats. `media`: in blocks with images, audio, video or files. `repeated`: at the top level of a response object. `errors`:
 * at the top level of an error.
 */
type Place =
  | "settings"
  | "messages"
  | "calls"
  | "sealed blocks"
  | "tools"
  | "schemas"
  | "media"
  | "events"
  | "forms"
  | "answers"
  | "answered media"
  | "errors"
  | "repeated"
  | "headers"
  | "subprotocols";

/** Required form of a value; a value of another form is inspected. `any`: also everything below the member. */
type Form = "any" | "key" | "id" | "token" | "label" | "type" | "base64" | "sealed" | "media" | "address";

export interface UninspectedRow {
  readonly place: Place;
  /** Names of members. A dot leads to a nested member, also through lists. */
  readonly names: readonly string[];
  readonly form: Form;
  readonly reason: string;
}

const FORMS = {
  any: "any",
  // A long value without a letter may be a person's number.
  key: /^(?:[\w.:/#$+=~|-]{1,11}|(?=[^A-Za-z]*[A-Za-z])[\w.:/@#$+=~|-]{12,512})$/,
  id: /^(?:[\w.:-]{1,11}|(?=[\d._:-]*[A-Za-z])[\w.:-]{12,128})$/,
  token: /^[\w.:/@#$+=~|-]{1,512}$/,
  label: /^[\w .:/()&+-]{1,64}$/,
  type: /^[\w.+/:-]{1,128}(?:; ?charset="?[\w-]+"?)?$/i,
  sealed: /^(?=[^A-Za-z]*[A-Za-z]|.{0,11}$)[\w.+/=-]*$/,
  base64: /^[\w+/=-]*$/,
  // A value of digits only is not media.
  media: /^(?=[\d\r\n_-]*[A-Za-z+/=])[\w+/=\r\n-]*$/,
  address: /^(?:https?|gs|s3):\/\/\S*$/i,
} as const satisfies Readonly<Record<Form, RegExp | "any">>;

const MODEL = "name of a model, which model lists and rules check";
const IDENTIFIER = "name of an object, a tool or a type";
const SETTING = "selects an option of the provider";
const STORED_ONLY = "stored by the provider with the request; no model reads it";
const STOP = "compared with the output, so a changed text would change the request";
const PROVIDERS_OWN = "address or credential that the provider uses itself";
const STRUCTURE = "word of the schema language, or name of a member";
const SEALED = "only the provider that wrote it can read it";
const MEDIA = "not text; counted in `gateway_guardrail_uninspected_total`";
const TOKENS = "repeats an inspected text, and is removed if that text is rewritten";
const ECHO = "repeats the request, which was inspected";
const CREDENTIAL = "credential";
const CONNECTION = "belongs to one connection and is not forwarded";

const row = (place: Place, form: Form, reason: string, names: string): UninspectedRow => ({
  place,
  form,
  reason: reason,
  names: names.split(" "),
});

export const UNINSPECTED: readonly UninspectedRow[] = [
  row("settings", "token", MODEL, "model models"),
  row(
    "settings",
    "key",
    IDENTIFIER,
    "type event_id assistant_id previous_response_id previous_item_id prompt_cache_key custom_id conversation conversation.id container " +
      "container.id container.file_ids container.skills.skill_id mcp_servers.name mcp_servers.tool_configuration.allowed_tools " +
      "function_call function_call.name tool_choice.name tool_choice.server_label tool_choice.function.name " +
      "tool_choice.custom.name tool_choice.tools.name tool_choice.tools.server_label tool_choice.tools.function.name " +
      "tool_choice.allowed_tools.tools.name tool_choice.allowed_tools.tools.server_label " +
      "tool_choice.allowed_tools.tools.function.name tool_choice.allowed_tools.tools.custom.name",
  ),
  row(
    "settings",
    "key",
    SETTING,
    "service_tier reasoning_effort reasoning reasoning.effort reasoning.summary reasoning.generate_summary thinking " +
      "thinking.type thinking.display modalities encoding_format include tool_choice tool_choice.type tool_choice.mode " +
      "tool_choice.tools.type tool_choice.allowed_tools.mode tool_choice.allowed_tools.tools.type container.type " +
      "container.memory_limit container.skills.type container.skills.version mcp_servers.type stream_options",
  ),
  row("settings", "any", STORED_ONLY, "metadata user safety_identifier"),
  row("settings", "any", STOP, "stop stop_sequences stop_sequence"),
  row("settings", "any", PROVIDERS_OWN, "mcp_servers.url mcp_servers.authorization_token"),
  row(
    "messages",
    "id",
    IDENTIFIER,
    "type role status id call_id tool_call_id tool_use_id item_id response_id file_id approval_request_id phase ttl",
  ),
  row("messages", "sealed", SEALED, "signature thought_signature encrypted_content encrypted_index encrypted_stdout"),
  row("calls", "id", IDENTIFIER, "name"),
  row("sealed blocks", "base64", SEALED, "data content"),
  row("events", "base64", MEDIA, "audio"),
  row("tools", "key", IDENTIFIER, "name type"),
  row("tools", "any", PROVIDERS_OWN, "authorization headers server_url vector_store_ids"),
  row("schemas", "key", STRUCTURE, "type required $ref $schema $id $anchor"),
  row("media", "type", IDENTIFIER, "type media_type mime_type format detail file_id"),
  row("media", "media", MEDIA, "data file_data result image audio"),
  row(
    "media",
    "address",
    MEDIA,
    "url image_url audio_url video_url file_url source image input_audio audio video file data file_data result",
  ),
  row("forms", "any", MODEL, "model"),
  row("forms", "any", STORED_ONLY, "user"),
  row(
    "answers",
    "token",
    IDENTIFIER,
    "id object type role model status finish_reason native_finish_reason stop_reason system_fingerprint service_tier " +
      "obfuscation call_id item_id event_id previous_item_id tool_use_id tool_call_id response_id previous_response_id " +
      "container_id file_id file_uuid name namespace phase format media_type server_label server_name encrypted_index " +
      "error_code request_id background truncation",
  ),
  row("answers", "label", IDENTIFIER, "provider"),
  row("answers", "any", STOP, "stop_sequence"),
  row("answers", "sealed", SEALED, "signature encrypted_content thought_signature"),
  row("answers", "any", TOKENS, "logprobs token_ids"),
  row("answered media", "any", MEDIA, "b64_json partial_image_b64 embedding"),
  row("answered media", "media", MEDIA, "audio data result delta"),
  row("errors", "token", IDENTIFIER, "code"),
  row(
    "repeated",
    "any",
    ECHO,
    "instructions tools tool_choice metadata input prompt text reasoning user safety_identifier prompt_cache_key " +
      "conversation client_metadata billing",
  ),
  row("headers", "any", CREDENTIAL, "authorization x-api-key api-key x-goog-api-key cookie"),
  row(
    "headers",
    "any",
    CONNECTION,
    "host content-length sec-websocket-key sec-websocket-version sec-websocket-extensions",
  ),
  row("subprotocols", "any", CREDENTIAL, "openai-insecure-api-key."),
];

/** Required form of the values of uninspected members, by name. */
export type UninspectedMembers = ReadonlyMap<string, RegExp | "any">;

/** Returns the uninspected members of a place, with the form of each. */
export function uninspectedMembers(place: Place): UninspectedMembers {
  const members = new Map<string, RegExp | "any">();
  for (const { names, form, ...row } of UNINSPECTED) {
    if (row.place === place) for (const name of names) members.set(name, FORMS[form]);
  }
  return members;
}

/** Returns the pattern of values of a form. */
export const formPattern = (form: Exclude<Form, "any">): RegExp => FORMS[form];

/** Returns whether a value has the given form, so that it is not inspected. */
export function hasForm(form: Form, text: string): boolean {
  return form === "any" || formPattern(form).test(text);
}

/** Returns the names of the members of a place whose values must have the given form. */
export function uninspectedNames(place: Place, form: Form): ReadonlySet<string> {
  return new Set(UNINSPECTED.flatMap((row) => (row.place === place && row.form === form ? row.names : [])));
}
