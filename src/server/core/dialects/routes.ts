/**
 * Every route of the two dialects: its name, its dialect, and where its model stands.
 *
 * Source: the route table of the dialects reference, section 2. A compat path under `/v1/` that has no row is forwarded
 * as bytes under the name `compat_other`, by decision.
 */

/** `either`: the path exists in both dialects; the request's `anthropic-version` header tells which. */
export type RouteDialect = "compat" | "messages";

/**
 * Where the model stands. `json`: a top-level key of a JSON body. `form`: a multipart field, or the key of a JSON body
 * where the content type says that it is one. `batch`: in every entry of a messages batch. `path`: the rest of the path.
 */
export type ModelPlace = "json" | "form" | "path" | "query" | "batch" | "none";

export interface Route {
  readonly name: string;
  readonly dialect: RouteDialect | "either";
  readonly model: ModelPlace;
  /** Without a model the request is refused; otherwise it goes to the default provider. */
  readonly modelRequired: boolean;
  /** What a channel must claim to serve the route; empty where the vocabulary has no name for it. */
  readonly capability: string;
}

interface Row extends Route {
  readonly methods: readonly string[];
  /** Exact, or ending in `*` for everything below. */
  readonly path: string;
}

type RowOptions = Partial<Pick<Row, "dialect" | "model" | "modelRequired" | "capability">>;

const row = (name: string, methods: string, path: string, options: RowOptions = {}): Row => ({
  name,
  methods: methods.split(" "),
  path,
  dialect: options.dialect ?? "compat",
  model: options.model ?? "none",
  modelRequired: options.modelRequired ?? false,
  capability: options.capability ?? name,
});

const ANY = "GET POST PUT PATCH DELETE HEAD";
const needsModel: RowOptions = { model: "json", modelRequired: true };
const messages: RowOptions = { dialect: "messages" };

const ROWS: readonly Row[] = [
  row("chat_completions", "POST", "/v1/chat/completions", needsModel),
  row("chat_completions_stored", "GET", "/v1/chat/completions", { capability: "chat_completions" }),
  row("chat_completions_stored", "GET POST DELETE", "/v1/chat/completions/*", { capability: "chat_completions" }),
  row("completions", "POST", "/v1/completions", needsModel),
  row("embeddings", "POST", "/v1/embeddings", needsModel),
  row("responses", "POST", "/v1/responses", { model: "json" }),
  row("responses_ws", "UPGRADE", "/v1/responses", { capability: "responses" }),
  row("responses_input_tokens", "POST", "/v1/responses/input_tokens", { model: "json", capability: "responses" }),
  row("responses_compact", "POST", "/v1/responses/compact", { ...needsModel, capability: "responses" }),
  row("responses_item", "GET POST DELETE", "/v1/responses/*", { capability: "responses" }),
  row("conversations", ANY, "/v1/conversations", { capability: "responses" }),
  row("conversations", ANY, "/v1/conversations/*", { capability: "responses" }),
  row("images_generations", "POST", "/v1/images/generations", { model: "json", capability: "images" }),
  row("images_edits", "POST", "/v1/images/edits", { model: "form", capability: "images" }),
  row("images_variations", "POST", "/v1/images/variations", { model: "form", capability: "images" }),
  row("audio_speech", "POST", "/v1/audio/speech", needsModel),
  row("audio_transcriptions", "POST", "/v1/audio/transcriptions", {
    model: "form",
    modelRequired: true,
    capability: "audio_transcription",
  }),
  row("audio_translations", "POST", "/v1/audio/translations", {
    model: "form",
    modelRequired: true,
    capability: "audio_transcription",
  }),
  row("moderations", "POST", "/v1/moderations", { model: "json" }),
  row("videos", "POST", "/v1/videos", { model: "form", capability: "" }),
  row("videos_item", ANY, "/v1/videos/*", { capability: "" }),
  row("uploads", "POST", "/v1/uploads", { capability: "files" }),
  row("uploads", "POST", "/v1/uploads/*", { capability: "files" }),
  row("batches", "GET POST", "/v1/batches"),
  row("batches", "GET POST", "/v1/batches/*"),
  row("fine_tuning_jobs", "POST", "/v1/fine_tuning/jobs", { ...needsModel, capability: "" }),
  row("fine_tuning", ANY, "/v1/fine_tuning/*", { capability: "" }),
  row("assistants", "POST", "/v1/assistants", { model: "json", capability: "" }),
  row("threads", "POST", "/v1/threads/runs", { model: "json", capability: "" }),
  row("realtime", "UPGRADE", "/v1/realtime", { model: "query" }),
  row("realtime_client_secrets", "POST", "/v1/realtime/client_secrets", { capability: "realtime" }),
  row("realtime_sessions", "POST", "/v1/realtime/sessions", { model: "json", capability: "realtime" }),
  row("realtime_sessions", "POST", "/v1/realtime/transcription_sessions", { capability: "realtime" }),
  row("realtime_calls", "POST", "/v1/realtime/calls", { model: "query", capability: "realtime" }),
  row("realtime_calls", "POST", "/v1/realtime/calls/*", { capability: "realtime" }),
  row("rerank", "POST", "/v1/rerank", needsModel),
  row("messages", "POST", "/v1/messages", { ...messages, ...needsModel }),
  row("count_tokens", "POST", "/v1/messages/count_tokens", { ...messages, ...needsModel }),
  row("message_batches", "POST", "/v1/messages/batches", { ...messages, model: "batch" }),
  row("message_batches", "GET", "/v1/messages/batches", messages),
  row("message_batches", "GET POST DELETE", "/v1/messages/batches/*", messages),
  row("complete", "POST", "/v1/complete", { ...messages, ...needsModel, capability: "" }),
  row("models", "GET", "/v1/models", { dialect: "either" }),
  row("model", "GET DELETE", "/v1/models/*", {
    dialect: "either",
    model: "path",
    modelRequired: true,
    capability: "models",
  }),
  row("files", ANY, "/v1/files", { dialect: "either" }),
  row("files", ANY, "/v1/files/*", { dialect: "either" }),
  row("skills", ANY, "/v1/skills", { dialect: "either", capability: "" }),
  row("skills", ANY, "/v1/skills/*", { dialect: "either", capability: "" }),
];

const OTHER: Route = {
  name: "compat_other",
  dialect: "compat",
  model: "form",
  modelRequired: false,
  capability: "",
};

const EXACT = new Map<string, Map<string, Route>>();
const BELOW: { readonly prefix: string; readonly methods: ReadonlySet<string>; readonly route: Route }[] = [];
for (const { methods, path, ...route } of ROWS) {
  if (path.endsWith("*")) {
    BELOW.push({ prefix: path.slice(0, -1), methods: new Set(methods), route });
  } else {
    const byMethod = EXACT.get(path) ?? new Map<string, Route>();
    for (const method of methods) byMethod.set(method, route);
    EXACT.set(path, byMethod);
  }
}

/** Names of all routes, for the documentation and for bounded labels. */
export const ROUTE_NAMES: readonly string[] = [...new Set([...ROWS.map(({ name }) => name), OTHER.name])];

/**
 * The route of a request. `method` is `UPGRADE` for a WebSocket handshake; `path` comes without its query.
 * Undefined: none of ours (`not_found`). The provider's administration below `/v1/organizations` is never proxied.
 */
export function findRoute(method: string, path: string): Route | undefined {
  const exact = EXACT.get(path)?.get(method);
  if (exact !== undefined) return exact;
  for (const { prefix, methods, route } of BELOW) {
    if (path.length > prefix.length && path.startsWith(prefix) && methods.has(method)) return route;
  }
  if (!path.startsWith("/v1/") || path.startsWith("/v1/organizations") || path.startsWith("/v1/organization/")) {
    return undefined;
  }
  // A messages path with a method it does not have is no compat path.
  return path === "/v1/messages" || path.startsWith("/v1/messages/") ? undefined : OTHER;
}
