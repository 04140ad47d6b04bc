/**
 * Writes advice for a client whose path is not a route: the right path, judged by what the client seems to be. Source: base
 * URLs that clients of other services and gateways are configured with. Nothing of the caller's path is repeated.
 */
import { findRoute, TWO_ENDPOINTS } from "./routes.ts";

const CHAT = "/v1/chat/completions";
const MESSAGES = "/v1/messages";

/** Advice that names both dialects, for a client that appears to know neither. */
const DIALECTS =
  `This gateway speaks two dialects: compat (OpenAI's clients; their base URL ends in one /v1) at \`${CHAT}\`, and ` +
  `messages (Anthropic's clients; their base URL is the gateway's root) at \`${MESSAGES}\`.`;

interface Advice {
  readonly path: RegExp;
  readonly text: string;
}

const MODEL_IN_BODY = "the model's name belongs in the body";

/** Advice by path. The first match applies. */
const ADVICE: readonly Advice[] = [
  {
    path: /^\/(?:v1(?:alpha|beta\d*)?\/)(?:models|tunedModels|cachedContents|interactions)\b.*/,
    text: `Gemini's own API is not served: use \`${CHAT}\` (${MODEL_IN_BODY})`,
  },
  { path: /^\/v1(?:alpha|beta)/, text: `Gemini's own API is not served: use \`${CHAT}\` (${MODEL_IN_BODY})` },
  {
    path: /^\/(?:openai\/)?deployments\//,
    text: `Azure's deployment paths are not served: use \`${CHAT}\` (${MODEL_IN_BODY})`,
  },
  { path: /^\/v1\/engines\//, text: `engine paths are not served: use \`${CHAT}\` (${MODEL_IN_BODY})` },
  { path: /^\/engines\//, text: `engine paths are not served: use \`${CHAT}\` (${MODEL_IN_BODY})` },
  { path: /^\/model\/[^/]+\/(?:invoke|converse)/, text: `Bedrock's own API is not served: use \`${MESSAGES}\`` },
  { path: /^\/projects\//, text: `Vertex's own API is not served: use \`${MESSAGES}\` or \`${CHAT}\`` },
  { path: /^\/api\/(?:chat|generate)\/?$/, text: `Ollama's own API is not served: use \`${CHAT}\`` },
  { path: /^\/api\/(?:tags|ps|show|version)\/?$/, text: "Ollama's own API is not served: models are at `/v1/models`" },
  { path: /^\/api\/embed(?:dings)?\/?$/, text: "Ollama's own API is not served: use `/v1/embeddings`" },
  { path: /^\/v2\/chat\/?$/, text: `Cohere's own API is not served: use \`${CHAT}\`` },
  { path: /^\/v2\/rerank\/?$/, text: "ask `/v1/rerank`" },
  { path: /^\/v2\/embed\/?$/, text: "Cohere's own API is not served: use `/v1/embeddings`" },
  { path: /^\/(?:generate|generate_stream)\/?$/, text: `ask \`${CHAT}\` or \`/v1/completions\`` },
  { path: /^\/mcp\/?$/, text: "an MCP server is at `/mcp/NAME`, and `/registry/v0.1/servers` lists them" },
  { path: /^\/sse\/?$/, text: "an MCP server is at `/mcp/NAME`, by POST, and `/registry/v0.1/servers` lists them" },
  { path: /^\/a2a\/?$/, text: "an agent is at `/a2a/NAME`, and its card at `/a2a/NAME/.well-known/agent-card.json`" },
  {
    path: /^\/\.well-known\/agent(?:-card)?\.json$/,
    text: "the card of an agent is at `/a2a/NAME/.well-known/agent-card.json`",
  },
  {
    // A path without the agent's name comes from a client that resolved it against an address without the last slash.
    path: /^\/a2a\/(?:.*\/)?\.well-known\/agent(?:-card)?\.json$/,
    text: "the card of an agent is at `/a2a/NAME/.well-known/agent-card.json`; give the client `/a2a/NAME/`, with the last slash",
  },
  { path: /^\/(?:registry(?:\/|$)|v0(?:\.1)?\/servers)/, text: "the registry is at `/registry/v0.1/servers`" },
  {
    path: /^\/(?:healthz?|livez|readyz|ready|ping|metrics)\/?$/,
    text: "`/healthz`, `/readyz` and `/metrics` are on the listener of `metrics_listen`",
  },
  { path: /^\/v1\/organization/, text: "a provider's administration API is not served" },
];

/** Paths of the dialects without their version, from a client whose base URL lacks it. */
const VERSIONLESS =
  /^\/(?:chat\/completions|completions|complete|embeddings|responses|models|messages|moderations|images\/\w+|audio\/\w+|rerank|files|batches|vector_stores|threads|assistants|realtime)(?:\/|$)/i;

const VERSION = "/v1";

/** Returns the message of a `not_found` error. */
export function wrongPathMessage(method: string, path: string): string {
  const advice = ADVICE.find((it) => it.path.test(path))?.text ?? rightPath(method, path);
  return `${causeOf(method, path)}${advice === undefined ? "" : `: ${advice}`}. ${DIALECTS}`;
}

function causeOf(method: string, path: string): string {
  if (/^\/v1\/v1(?:\/|$)/i.test(path)) return "The path begins with /v1 twice";
  if (TWO_ENDPOINTS.test(path))
    return "The path names two endpoints, so the base URL of the client ends in one of them";
  return `No route for ${method} of this path`;
}

/**
 * Returns the advice for a path that contains a known route after another base, or without the version; otherwise `undefined`.
 */
function rightPath(method: string, path: string): string | undefined {
  const lower = path.toLowerCase().replace(/(?<=.)\/+$/, "");
  const at = lower.lastIndexOf(`${VERSION}/`);
  const within = at < 0 ? undefined : lower.slice(at);
  const endpoint = /\/(?:chat\/completions|messages|responses|embeddings|models)$/.exec(lower)?.[0];
  const last = endpoint && VERSION + endpoint;
  const versioned = VERSIONLESS.test(lower) ? VERSION + lower : undefined;
  for (const candidate of TWO_ENDPOINTS.test(lower) ? [last] : [within, versioned, last]) {
    const named = candidate === undefined ? undefined : shownRoute(method, candidate);
    if (named !== undefined) return named;
  }
  return undefined;
}

function shownRoute(method: string, path: string): string | undefined {
  const wanted = SHOWN.find((it) => path === it || path.startsWith(`${it}/`));
  if (wanted === undefined) return undefined;
  return findRoute(method, path) === undefined ? `\`${wanted}\` accepts other methods` : `it is \`${wanted}\``;
}

/** Known paths, a longer one before its prefixes. */
const SHOWN: readonly string[] = [
  CHAT,
  "/v1/completions",
  "/v1/complete",
  "/v1/embeddings",
  "/v1/responses",
  "/v1/messages/count_tokens",
  "/v1/messages/batches",
  MESSAGES,
  "/v1/models",
  "/v1/moderations",
  "/v1/images/generations",
  "/v1/images/edits",
  "/v1/audio/speech",
  "/v1/audio/transcriptions",
  "/v1/audio/translations",
  "/v1/rerank",
  "/v1/files",
  "/v1/batches",
  "/v1/vector_stores",
  "/v1/threads",
  "/v1/assistants",
  "/v1/realtime",
];
