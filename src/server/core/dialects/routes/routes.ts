/**
 * Table of the routes of the two dialects: name, dialect, place of the model, whether answers report usage, and what the route
 * could hide.
 *
 * Source: the route table of the dialects reference, section 2; design decisions, section 6. A compat path under `/v1/` that
 * has no row is forwarded as bytes under the name `compat_other`, by decision.
 */

export type Dialect = "compat" | "messages";

/** Form of a request for a model's answer: a dialect, and the route family where the dialect has two. */
export type Form = "chat" | "messages" | "responses";

/**
 * Place of the model's name in a request. `json`: a top-level key of a JSON body. `form`: a multipart field, or a key of the body if
 * the content type is JSON. `batch`: every entry of a messages batch. `path`: the rest of the path. `query`: a parameter.
 */
type ModelPlace = "json" | "form" | "path" | "query" | "batch" | "none";

/**
 * Whether an answer reports its usage. `always`: a successful one does; if it does not, the provider still bills, so the
 * reserved amount is charged. `maybe`: only for some models or formats. `none`: it uses nothing, or the usage was charged when
 * the returned object was created.
 */
type UsageReporting = "always" | "maybe" | "none";

/**
 * Reason why a profile cannot limit the route. `hides_models`: a model runs although the request does not name it, or no answer
 * reports its usage. `grants_credential`: the answer lets its holder reach the provider without the gateway. Routes of files
 * are open, except for files that `isForBatch` recognizes.
 */
type RouteGuard = "open" | "hides_models" | "grants_credential";

export interface Route {
  readonly name: string;
  /** Dialect; `either` if the path exists in both, and the request's `anthropic-version` header decides. */
  readonly dialect: Dialect | "either";
  readonly model: ModelPlace;
  /** Whether a request without a model is refused; otherwise it goes to the default provider. */
  readonly modelRequired: boolean;
  /** Capability that a channel must claim to serve the route; empty if the vocabulary has no name for it. */
  readonly capability: string;
  readonly usage: UsageReporting;
  readonly guard: RouteGuard;
  /**
   * True if a model gets or returns texts that bypass the gateway, or that the gateway does not find: lines of an uploaded
   * file, results at an address of the provider, media over WebRTC. Guardrails cannot inspect them.
   */
  readonly hidesTexts: boolean;
  /** Form of the request's body, if the route may be translated. */
  readonly form: Form | undefined;
  /** Other routes that can serve it, the best first; empty if it is not translated. */
  readonly counterparts: readonly Counterpart[];
}

export interface Counterpart {
  /** Dialect of the counterpart; `undefined` means the dialect that is not the request's. */
  readonly dialect: Dialect | undefined;
  /** Form of the body to send; `undefined` if there is no body. */
  readonly form: Form | undefined;
  /** Capability that a channel must claim to serve the counterpart. */
  readonly capability: string;
  /** Path of the counterpart without a query; `undefined` for the same path. */
  readonly path: string | undefined;
}

interface Row extends Route {
  readonly methods: readonly string[];
  /** Exact path, or a path that ends in `*` and matches everything below it. */
  readonly path: string;
}

type RowOptions = Partial<Omit<Route, "name">>;

const NONE: readonly Counterpart[] = [];

const row = (name: string, methods: string, path: string, options: RowOptions = {}): Row => ({
  name,
  methods: withHead(methods.split(" ")),
  path,
  dialect: options.dialect ?? "compat",
  model: options.model ?? "none",
  modelRequired: options.modelRequired ?? false,
  capability: options.capability ?? name,
  usage: options.usage ?? "none",
  guard: options.guard ?? "open",
  hidesTexts: options.hidesTexts ?? false,
  form: options.form,
  counterparts: options.counterparts ?? NONE,
});

/** Adds HEAD where GET is allowed: RFC 9110, section 9.3.2. */
const withHead = (methods: readonly string[]): readonly string[] =>
  methods.includes("GET") && !methods.includes("HEAD") ? [...methods, "HEAD"] : methods;

const ANY = "GET POST PUT PATCH DELETE HEAD";
const ANY_BUT_POST = "GET PUT PATCH DELETE HEAD";
const needsModel: RowOptions = { model: "json", modelRequired: true };
const messages: RowOptions = { dialect: "messages" };
const always: RowOptions = { usage: "always" };
const maybe: RowOptions = { usage: "maybe" };
/** Options of a route that profiles cannot limit. Its texts pass the gateway, so guardrails inspect them. */
const hidden: RowOptions = { guard: "hides_models" };
const unread: RowOptions = { ...hidden, hidesTexts: true };
const granting: RowOptions = { guard: "grants_credential", hidesTexts: true };
const responses: RowOptions = { capability: "responses" };
const images: RowOptions = { capability: "images", ...maybe };
const transcription: RowOptions = { ...needsModel, model: "form", capability: "audio_transcription", ...maybe };
/** Options of the list of models, which has the same path in both dialects. */
const models: RowOptions = {
  dialect: "either",
  capability: "models",
  counterparts: [{ dialect: undefined, form: undefined, capability: "models", path: undefined }],
};
const oneModel: RowOptions = { dialect: "either", model: "path", modelRequired: true, capability: "models" };
const realtime: RowOptions = { capability: "realtime" };
/** Options of a route without a capability name. Its model is in the same place as that of `compat_other`. */
const unnamed: RowOptions = { model: "form", capability: "" };

const AS_MESSAGES: Counterpart = {
  dialect: "messages",
  form: "messages",
  capability: "messages",
  path: "/v1/messages",
};
const AS_CHAT: Counterpart = {
  dialect: "compat",
  form: "chat",
  capability: "chat_completions",
  path: "/v1/chat/completions",
};

const ROWS: readonly Row[] = [
  row("chat_completions", "POST", "/v1/chat/completions", {
    ...needsModel,
    ...always,
    form: "chat",
    counterparts: [AS_MESSAGES],
  }),
  row("chat_completions_stored", "GET", "/v1/chat/completions", { capability: "chat_completions" }),
  row("chat_completions_stored", "GET POST DELETE", "/v1/chat/completions/*", { capability: "chat_completions" }),
  row("completions", "POST", "/v1/completions", { ...needsModel, ...always }),
  row("embeddings", "POST", "/v1/embeddings", { ...needsModel, ...always }),
  // In background mode the answer arrives before the work is done and reports no usage; the reserved amount is charged.
  row("responses", "POST", "/v1/responses", {
    model: "json",
    ...always,
    form: "responses",
    counterparts: [AS_MESSAGES, AS_CHAT],
  }),
  // Each event that asks for a response names its model, and the event that ends it reports its usage. The handshake may name
  // one too.
  row("responses_ws", "UPGRADE", "/v1/responses", { ...responses, model: "query", ...maybe }),
  row("responses_input_tokens", "POST", "/v1/responses/input_tokens", {
    ...responses,
    model: "json",
    form: "responses",
    counterparts: [{ ...AS_MESSAGES, capability: "count_tokens", path: "/v1/messages/count_tokens" }],
  }),
  row("responses_compact", "POST", "/v1/responses/compact", { ...responses, ...needsModel, ...always }),
  // The answer reports the usage of a response that was charged when it was created; polling must not charge it again.
  row("responses_item", "GET POST DELETE", "/v1/responses/*", responses),
  row("conversations", ANY, "/v1/conversations", responses),
  row("conversations", ANY, "/v1/conversations/*", responses),
  row("images_generations", "POST", "/v1/images/generations", { ...images, model: "json" }),
  row("images_edits", "POST", "/v1/images/edits", { ...images, model: "form" }),
  row("images_variations", "POST", "/v1/images/variations", { ...images, model: "form" }),
  row("audio_speech", "POST", "/v1/audio/speech", { ...needsModel, ...maybe }),
  row("audio_transcriptions", "POST", "/v1/audio/transcriptions", transcription),
  row("audio_translations", "POST", "/v1/audio/translations", transcription),
  row("moderations", "POST", "/v1/moderations", { model: "json", ...maybe }),
  row("videos", "POST", "/v1/videos", { model: "form", capability: "", ...maybe }),
  // Remixes and extensions run the model of the video they begin from.
  row("videos_item", "POST", "/v1/videos/*", { capability: "", ...maybe, ...hidden }),
  row("videos_item", ANY_BUT_POST, "/v1/videos/*", { capability: "" }),
  row("uploads", "POST", "/v1/uploads", { capability: "files" }),
  row("uploads", "POST", "/v1/uploads/*", { capability: "files" }),
  row("batches", "GET POST", "/v1/batches", unread),
  row("batches", "GET POST", "/v1/batches/*", unread),
  // Batches of Mistral's API.
  row("batches", ANY, "/v1/batch/*", { ...unread, capability: "" }),
  // The request names the trained model, but no answer reports the usage of training, and graders name further models.
  row("fine_tuning_jobs", "POST", "/v1/fine_tuning/jobs", { ...needsModel, capability: "", ...unread }),
  row("fine_tuning", ANY, "/v1/fine_tuning/*", { capability: "", ...unread }),
  // Paths of the API's first version, also used by Together AI and others.
  row("fine_tuning", ANY, "/v1/fine-tunes", { capability: "", ...unread }),
  row("fine_tuning", ANY, "/v1/fine-tunes/*", { capability: "", ...unread }),
  // Creating an assistant names its model and uses none; a run names the assistant.
  row("assistants", "POST", "/v1/assistants", { model: "json", capability: "" }),
  row("assistants", ANY, "/v1/assistants/*", unnamed),
  row("threads", "POST", "/v1/threads/runs", { model: "json", capability: "", ...maybe, ...hidden }),
  row("threads", "POST", "/v1/threads", unnamed),
  row("threads", "POST", "/v1/threads/*", { ...unnamed, ...maybe, ...hidden }),
  row("threads", ANY_BUT_POST, "/v1/threads/*", unnamed),
  // Runs and graders name models deep inside their definitions, and take their texts from files.
  row("evals", "POST", "/v1/evals", { ...unnamed, ...unread }),
  row("evals", "POST", "/v1/evals/*", { ...unnamed, ...unread }),
  // A session's answer contains a client secret, like that of realtime.
  row("chatkit", ANY, "/v1/chatkit/*", { ...unnamed, ...granting }),
  // The query names the model if there is one. Otherwise (a transcription, a call) the session's events name it.
  row("realtime", "UPGRADE", "/v1/realtime", { model: "query", ...maybe }),
  row("realtime_client_secrets", "POST", "/v1/realtime/client_secrets", { ...realtime, ...granting }),
  row("realtime_sessions", "POST", "/v1/realtime/sessions", { ...realtime, model: "json", ...granting }),
  row("realtime_sessions", "POST", "/v1/realtime/transcription_sessions", { ...realtime, ...granting }),
  // The session's media and events bypass the gateway; its model may be in a part of the form.
  row("realtime_calls", "POST", "/v1/realtime/calls", { ...realtime, model: "query", ...unread }),
  row("realtime_calls", "POST", "/v1/realtime/calls/*", { ...realtime, ...unread }),
  // Any other session that is opened there also returns a client secret, as `translations/client_secrets` does.
  row("realtime_sessions", "POST", "/v1/realtime/*", { ...realtime, ...granting }),
  row("rerank", "POST", "/v1/rerank", { ...needsModel, ...maybe }),
  row("messages", "POST", "/v1/messages", {
    ...messages,
    ...needsModel,
    ...always,
    form: "messages",
    counterparts: [AS_CHAT],
  }),
  row("count_tokens", "POST", "/v1/messages/count_tokens", { ...messages, ...needsModel }),
  // Each entry names its model, which is used for routing. But the results report the usage hours later, and a batch
  // contains a provider URL for them.
  row("message_batches", "POST", "/v1/messages/batches", { ...messages, model: "batch", ...unread }),
  row("message_batches", "GET", "/v1/messages/batches", { ...messages, ...unread }),
  row("message_batches", "GET POST DELETE", "/v1/messages/batches/*", { ...messages, ...unread }),
  // The provider bills tokens but reports none; the reserved amount is charged.
  row("complete", "POST", "/v1/complete", { ...messages, ...needsModel, capability: "", ...always }),
  row("models", "GET", "/v1/models", models),
  row("model", "GET", "/v1/models/*", { ...oneModel, counterparts: models.counterparts ?? NONE }),
  row("model", "DELETE", "/v1/models/*", oneModel),
  row("files", ANY, "/v1/files", { dialect: "either" }),
  row("files", ANY, "/v1/files/*", { dialect: "either" }),
  row("skills", ANY, "/v1/skills", { dialect: "either", capability: "" }),
  row("skills", ANY, "/v1/skills/*", { dialect: "either", capability: "" }),
];

/** Route of every other compat path: stored objects of the provider (vector stores, containers) and future paths. */
const OTHER_ROUTE: Route = {
  name: "compat_other",
  dialect: "compat",
  model: "form",
  modelRequired: false,
  capability: "",
  usage: "maybe",
  guard: "open",
  hidesTexts: false,
  form: undefined,
  counterparts: NONE,
};

/**
 * Paths that are not forwarded: a provider's administration; engines, whose model in the path no rule would see; and a repeated
 * version, from a client whose base URL ends in the version that it adds itself.
 */
const NOT_FORWARDED =
  /^\/v1\/(?:organization|v1(?:\/|$)|engines\/[^/]+\/(?:completions|chat\/completions|embeddings)$)/;

/**
 * Paths of two endpoints, from a client whose base URL ends in the path of an endpoint. It adds its own, as for
 * `/v1/chat/completions/chat/completions`.
 */
export const TWO_ENDPOINTS =
  /^\/v1\/(?:chat\/completions|completions|responses|embeddings|messages)(?:\/v1)?\/(?:chat\/completions|completions|responses|embeddings|models|messages)$/;

/** Methods of other paths. TRACE is excluded: its answer repeats the request, with the provider's credential. */
const OTHER_METHODS: ReadonlySet<string> = new Set([...ANY.split(" "), "OPTIONS", "UPGRADE"]);

interface RouteExample {
  readonly method: string;
  readonly path: string;
  readonly name: string;
}

const EXACT_ROUTES = new Map<string, Map<string, Route>>();
const PREFIX_ROUTES: { readonly prefix: string; readonly methods: ReadonlySet<string>; readonly route: Route }[] = [];
for (const { methods, path, ...route } of ROWS) {
  if (path.endsWith("*")) {
    PREFIX_ROUTES.push({ prefix: path.slice(0, -1), methods: new Set(methods), route });
  } else {
    const byMethod = EXACT_ROUTES.get(path) ?? new Map<string, Route>();
    for (const method of methods) byMethod.set(method, route);
    EXACT_ROUTES.set(path, byMethod);
  }
}

/** Names of all routes, for the documentation and as metric labels. */
export const ROUTE_NAMES: readonly string[] = [...new Set([...ROWS.map(({ name }) => name), OTHER_ROUTE.name])];

/** Returns one request for each row and method, so that tests can check every entry point. `UPGRADE` is a WebSocket handshake. */
export function routeExamples(): readonly RouteExample[] {
  const examples = ROWS.flatMap(({ methods, path, name }) =>
    methods.map((method) => ({ method, path: path.replace("*", "example"), name })),
  );
  return [...examples, { method: "POST", path: "/v1/example", name: OTHER_ROUTE.name }];
}

/**
 * Returns the route of a request, or `undefined` if there is none (`not_found`). `method` is `UPGRADE` for a WebSocket
 * handshake; `path` has no query. The provider's administration below `/v1/organization` is never proxied.
 */
export function findRoute(method: string, path: string): Route | undefined {
  const exact = EXACT_ROUTES.get(path)?.get(method);
  if (exact !== undefined) return exact;
  if (TWO_ENDPOINTS.test(path)) return undefined;
  for (const { prefix, methods, route } of PREFIX_ROUTES) {
    if (path.length > prefix.length && path.startsWith(prefix) && methods.has(method)) return route;
  }
  if (!path.startsWith("/v1/") || !OTHER_METHODS.has(method) || NOT_FORWARDED.test(path)) return undefined;
  // A messages path with an unsupported method is not a compat path.
  return path === "/v1/messages" || path.startsWith("/v1/messages/") ? undefined : OTHER_ROUTE;
}

const KEYS = new Map<Route, string>([[OTHER_ROUTE, "POST /v1/example"]]);
for (const { methods, path } of ROWS) {
  const [method = ""] = methods;
  const example = path.replace("*", "example");
  const found = findRoute(method, example);
  if (found !== undefined && !KEYS.has(found)) KEYS.set(found, `${method} ${example}`);
}

/**
 * Returns a key of the route, which is a method and a path that lead to it. A name would not do, since several routes share
 * one.
 */
export const routeKey = (route: Route): string => KEYS.get(route) ?? "";

/** Returns the route of a key from `routeKey`, or `undefined` if this version does not have it. */
export function routeOfKey(key: string): Route | undefined {
  const [method = "", path = ""] = key.split(" ", 2);
  return findRoute(method, path);
}

/** Returns whether the path is a named HTTP route without a WebSocket form, so that no session can be opened at it. */
export function isHttpOnly(path: string): boolean {
  const methods = EXACT_ROUTES.get(path);
  if (methods !== undefined) return !methods.has("UPGRADE");
  return path.startsWith("/v1/messages/");
}
