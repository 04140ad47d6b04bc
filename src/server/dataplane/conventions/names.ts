/**
 * What OpenTelemetry's semantic conventions for generative AI call our routes and the makers of providers (1.45). Everything here comes
 * from closed lists or the configuration, so that it may stand in spans and label series.
 */

export interface Operation {
  /** `gen_ai.operation.name`. */
  readonly name: string;
  /** `gen_ai.output.type`; undefined: the request says, in what nobody reads here. */
  readonly output: "text" | "image" | "speech" | undefined;
  /** Its answers are texts that end for a reason. */
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

/** Undefined: the conventions have no name for what the route does. */
export const operationOf = (route: string): Operation | undefined => OPERATIONS.get(route);

/** Names of the catalog that are called otherwise there. */
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

/** `gen_ai.provider.name` of a provider, by what the catalog calls its maker; one that the conventions do not name keeps its own. */
export const systemOf = (maker: string): string => SYSTEMS.get(maker) ?? maker;

/** `gen_ai.request.model` of a label; empty: it stands for no model. */
export const modelOf = (label: string): string => (label === "none" || label === "other" ? "" : label);

/** What kind of failure an answer is; empty: none. `code`: the refusal's, or empty. */
export const errorOf = (status: number, code: string): string => (code === "" && status >= 400 ? String(status) : code);

/** The same of an attempt; `outcome` is an `AttemptResult`. */
export function attemptErrorOf(outcome: string, status: number | null): string {
  if (status !== null && status >= 400) return String(status);
  return outcome === "answered" || outcome === "abandoned" ? "" : outcome;
}
