/**
 * Maps routes and providers to their names in OpenTelemetry's semantic conventions for generative AI (1.45). All names come from
 * closed lists or the configuration, so they are safe in spans and labels.
 */

interface Operation {
  /** Value of `gen_ai.operation.name`. */
  readonly name: string;
  /** Value of `gen_ai.output.type`; `undefined` if it depends on the request, which is not parsed for it. */
  readonly output: "text" | "image" | "speech" | undefined;
  /** Whether the operation's answers are texts with a finish reason. */
  readonly hasReasons?: boolean;
}

const CHAT: Operation = { name: "chat", output: undefined, hasReasons: true };
const COMPLETION: Operation = { name: "text_completion", output: "text", hasReasons: true };
const IMAGE: Operation = { name: "generate_content", output: "image" };
const TEXT: Operation = { name: "generate_content", output: "text" };

const OPERATIONS: ReadonlyMap<string, Operation> = new Map([
  ["chat_completions", CHAT],
  ["messages", CHAT],
  ["responses", CHAT],
  ["responses_ws", CHAT],
  ["responses_compact", CHAT],
  ["completions", COMPLETION],
  ["complete", COMPLETION],
  ["embeddings", { name: "embeddings", output: undefined }],
  ["realtime", { name: "generate_content", output: undefined }],
  ["images_generations", IMAGE],
  ["images_edits", IMAGE],
  ["images_variations", IMAGE],
  ["audio_speech", { name: "generate_content", output: "speech" }],
  ["audio_transcriptions", TEXT],
  ["audio_translations", TEXT],
]);

/** Returns `undefined` if the conventions have no name for the route's operation. */
export const operationOf = (route: string): Operation | undefined => OPERATIONS.get(route);

/** Names of the catalog that differ in the conventions. */
const SYSTEMS: ReadonlyMap<string, string> = new Map([
  ["azure-openai", "azure.ai.openai"],
  ["azure-foundry", "azure.ai.inference"],
  ["bedrock", "aws.bedrock"],
  ["bedrock-anthropic", "aws.bedrock"],
  ["bedrock-mantle", "aws.bedrock"],
  ["claude-aws", "anthropic"],
  ["gemini", "gcp.gemini"],
  ["vertex-openai", "gcp.vertex_ai"],
  ["mistral", "mistral_ai"],
  ["xai", "x_ai"],
]);

/**
 * Returns `gen_ai.provider.name` for a maker's name in the catalog. A maker that the conventions do not name keeps its own
 * name.
 */
export const systemOf = (maker: string): string => SYSTEMS.get(maker) ?? maker;

/** Returns `gen_ai.request.model` for a label; empty if the label is not a model. */
export const modelOf = (label: string): string => (label === "none" || label === "other" ? "" : label);

/** Returns the kind of failure of an answer, or an empty string. `code`: code of the refusal, or empty. */
export const errorOf = (status: number, code: string): string => (code === "" && status >= 400 ? String(status) : code);

/** Returns the kind of failure of an attempt, or an empty string. `outcome`: an `AttemptResult`. */
export function attemptErrorOf(outcome: string, status: number | null): string {
  if (status !== null && status >= 400) return String(status);
  return outcome === "answered" || outcome === "abandoned" ? "" : outcome;
}
