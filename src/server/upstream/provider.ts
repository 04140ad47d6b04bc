/** Compiles a provider for the request path. Every lookup is prepared here, once per configuration. */
import { HOP_BY_HOP_HEADERS, parseDuration } from "../../base/index.ts";
import { type CatalogProvider, type Channel, compileJoin, lackedByClaude } from "../core/catalog/index.ts";
import type { ProviderConfig } from "../core/config/index.ts";
import { capabilitiesOf, type Dialect, defaultClaims, evidenceOf, type ObjectEdits } from "../core/dialects/index.ts";
import { CREDENTIAL_HEADERS, type Credential, keyHeaders } from "../credentials/index.ts";
import { compilePool, type PoolSpec } from "./pools/index.ts";

export type Trigger = "connect" | "5xx" | "429" | "timeout";

export interface RetryPolicy {
  /** Number of retries, 1 to 5. */
  readonly attempts: number;
  readonly when: ReadonlySet<Trigger>;
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  /** Maximum `retry-after` of a 429, in milliseconds. A longer wait is not waited for. */
  readonly retryAfterCapMs: number;
}

export interface UpstreamChannel {
  readonly id: string;
  readonly dialect: Dialect;
  /** Origin in the form `scheme://host[:port]`. */
  readonly origin: string;
  /** Value of the `host` header. */
  readonly host: string;
  /** Origin that may be shown, or the text of the configuration with its unresolved references. */
  readonly shownOrigin: string;
  /** Servers behind the origin's name; `undefined` for a single server. */
  readonly pool: PoolSpec | undefined;
  /** Maps an incoming path, without its query, to the path at the origin. */
  readonly pathOf: (incomingPath: string) => string;
  /** Whether this is the maker's own surface, and not one that is kept for clients of another dialect. */
  readonly isOwnSurface: boolean;
  /** Capabilities that the channel claims; `undefined` if it claims everything that its dialect can express. */
  readonly caps: ReadonlySet<string> | undefined;
  readonly claims: (capability: string) => boolean;
  /** Returns the same channel with the capabilities that the model has. `model`: model name sent to the provider. */
  readonly forModel: (model: string) => UpstreamChannel;
  /**
   * Texts that indicate capabilities which the channel does not claim. A request of its own dialect that contains none of them
   * loses nothing here. It is empty if no request can lose anything, and `undefined` if the request must be parsed to find out.
   */
  readonly lossEvidence: readonly Buffer[] | undefined;
  /** Returns whether the channel serves a model; `undefined` if it serves every model. */
  readonly servesModel: ((model: string) => boolean) | undefined;
  /** Credential to present; `undefined` if the client's own is forwarded. */
  readonly credential: Credential | undefined;
  /** Returns the header pairs that present a client's own key, for a request that is not forwarded as the client wrote it. */
  readonly keyHeadersFor: (key: string) => readonly string[];
}

export interface Provider {
  readonly name: string;
  /**
   * Name in the catalog, or the configured name if it is not in the catalog. It identifies who signs and seals the provider's
   * thinking blocks.
   */
  readonly maker: string;
  readonly channels: readonly UpstreamChannel[];
  /** Pool of the provider's channels; `undefined` if they have none. */
  readonly pool: PoolSpec | undefined;
  /** Names of the models that are sent to the provider, by the names that clients use. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Changes that the catalog makes to the body; `undefined` if it makes none. */
  readonly bodyEdits: ObjectEdits | undefined;
  /** Top-level fields that the operator removes; `undefined` for none. */
  readonly strippedFields: ReadonlySet<string> | undefined;
  /** Lower-case names of request headers that are not forwarded. */
  readonly droppedHeaders: ReadonlySet<string>;
  /** Header pairs added to each request. */
  readonly addedHeaders: readonly string[];
  /** Policy for a request that would lose something here. */
  readonly onFidelityLoss: "reject" | "allow";
  /** Whether the server supports `stream_options`, or the operator declares that it does. */
  readonly acceptsStreamUsage: boolean;
  /** Field that identifies the end user. Compat dialect only. */
  readonly endUserField: CatalogProvider["endUserField"];
  /** Whether the server refuses calls in the history that do not have its signature. Compat dialect only. */
  readonly signsCalls: boolean;
  /** Whether usage is requested in streamed compat calls. The extra chunk is then removed from the answer. */
  readonly asksStreamUsage: boolean;
  /** Metadata that the operator assigned, for access rules. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Budget units of one WebSocket session. */
  readonly costPerSession: number;
  readonly firstByteTimeoutMs: number | undefined;
  readonly retry: RetryPolicy | undefined;
  readonly failover: { readonly to: readonly string[]; readonly when: ReadonlySet<Trigger> } | undefined;
}

/** Maximum delay of a timer: 24.8 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Headers that are never forwarded, beyond the hop-by-hop ones: those that the client connection writes itself, `expect`, which
 * the gateway's server has answered, and a browser's statements about its page, which this gateway has checked. Some providers
 * refuse browser pages by them.
 */
const NEVER_FORWARDED: readonly string[] = [
  ...HOP_BY_HOP_HEADERS,
  "host",
  "content-length",
  "expect",
  "origin",
  "sec-fetch-site",
];

/**
 * Headers from which some servers take method, path, organization or project. If the gateway presents its own credential, clients
 * may not set them.
 */
const STEERING_HEADERS: readonly string[] = [
  "x-http-method-override",
  "x-http-method",
  "x-method-override",
  "x-original-url",
  "x-original-uri",
  "x-rewrite-url",
  "openai-organization",
  "openai-project",
  "x-goog-user-project",
];

/** Settings of the deployment document that apply to all providers, and the address of this one as written in it. */
interface ProviderDefaults {
  readonly onFidelityLoss: "reject" | "allow";
  /** Whether some feature counts usage. `stream_usage` is then on by default. */
  readonly readsUsage: boolean;
  /** Address as written in the configuration, if it contains references. */
  readonly writtenAddress?: string | undefined;
}

/**
 * Compiles a provider. `credentialOf` returns the credential of a channel; it is `undefined` if the client's own is forwarded.
 */
export function compileProvider(
  facts: CatalogProvider,
  config: ProviderConfig,
  credentialOf: ((channel: Channel) => Credential) | undefined,
  defaults: ProviderDefaults,
): Provider {
  const added = [...facts.setRequestHeaders];
  const name = config.name ?? facts.name;
  const pool = config.pool && compilePool(name, config.pool, new URL(config.pool.service).origin);
  const acceptsStreamUsage = config.stream_usage ?? facts.acceptsStreamUsage;
  const hasBodyEdits =
    facts.setRequestFields.size + facts.removeRequestFields.length + facts.renameRequestFields.size > 0;
  return {
    name,
    maker: facts.name,
    channels: facts.channels.map((channel) =>
      compileChannel(channel, credentialOf?.(channel), defaults.writtenAddress, pool),
    ),
    pool,
    aliases: new Map(Object.entries(config.model_aliases ?? {})),
    bodyEdits: hasBodyEdits
      ? {
          set: facts.setRequestFields,
          remove: new Set(facts.removeRequestFields),
          rename: facts.renameRequestFields,
        }
      : undefined,
    strippedFields: facts.strippedFields.length === 0 ? undefined : new Set(facts.strippedFields),
    droppedHeaders: new Set([
      ...NEVER_FORWARDED,
      ...(credentialOf === undefined ? [] : [...CREDENTIAL_HEADERS, ...STEERING_HEADERS]),
      ...facts.removeRequestHeaders.map((name) => name.toLowerCase()),
      ...added.map(([name]) => name.toLowerCase()),
    ]),
    addedHeaders: added.flat(),
    onFidelityLoss: config.on_fidelity_loss ?? defaults.onFidelityLoss,
    acceptsStreamUsage,
    endUserField: facts.endUserField,
    signsCalls: facts.signsCalls,
    asksStreamUsage: acceptsStreamUsage && (config.stream_usage ?? defaults.readsUsage),
    metadata: Object.freeze({ ...config.metadata }),
    costPerSession: config.cost_per_session ?? 1,
    firstByteTimeoutMs: config.first_byte_timeout === undefined ? undefined : timerMs(config.first_byte_timeout),
    retry: compileRetry(config.retry),
    failover: config.failover && { to: config.failover.to, when: new Set(config.failover.when) },
  };
}

function compileChannel(
  channel: Channel,
  credential: Credential | undefined,
  written: string | undefined,
  pool: PoolSpec | undefined,
): UpstreamChannel {
  const claimed: ReadonlySet<string> = channel.caps ?? defaultClaims(channel.dialect);
  const { origin, host } = new URL(channel.baseUrl);
  const compiled: UpstreamChannel = {
    id: channel.id,
    dialect: channel.dialect,
    origin,
    host,
    shownOrigin: written ?? origin,
    pool,
    pathOf: compileJoin(channel),
    isOwnSurface: channel.tier === "provider",
    caps: channel.caps,
    claims: (capability) => claimed.has(capability),
    forModel: channel.servesClaude ? (model) => withoutCapabilities(lackedByClaude(model)) : () => compiled,
    lossEvidence: evidenceOf(
      channel.dialect,
      [...capabilitiesOf(channel.dialect)].filter((capability) => !claimed.has(capability)),
    ),
    servesModel: channel.models.length === 0 ? undefined : modelMatcher(channel.models),
    credential,
    keyHeadersFor: (clientKey) => keyHeaders(channel.keyHeader, clientKey),
  };
  // Keyed by the lacking capabilities and not by the model's name, since clients can send any number of names.
  const byLack = new Map<string, UpstreamChannel>();
  function withoutCapabilities(lacked: readonly string[]): UpstreamChannel {
    const name = lacked.join(" ");
    let restricted = byLack.get(name);
    if (restricted === undefined) {
      const caps = new Set([...claimed].filter((capability) => !lacked.includes(capability)));
      restricted = { ...compiled, caps, claims: (capability) => caps.has(capability), lossEvidence: undefined };
      byLack.set(name, restricted);
    }
    return restricted;
  }
  return compiled;
}

function compileRetry(retry: ProviderConfig["retry"]): RetryPolicy | undefined {
  if (retry === undefined) return undefined;
  return {
    attempts: retry.attempts,
    when: new Set(retry.when),
    backoffMs: timerMs(retry.backoff),
    maxBackoffMs: timerMs(retry.max_backoff),
    retryAfterCapMs: timerMs(retry.retry_after_cap),
  };
}

/** Parses a duration for a timer. The schema admits only valid durations; a timer beyond 31 bits would fire immediately. */
function timerMs(text: string): number {
  return Math.min(parseDuration(text) ?? 0, MAX_TIMER_MS);
}

/** Returns a function that matches exact names and prefixes with a trailing `*`. */
export function modelMatcher(patterns: readonly string[]): (model: string) => boolean {
  const exact = new Set(patterns.filter((pattern) => !pattern.endsWith("*")));
  const prefixes = patterns.filter((pattern) => pattern.endsWith("*")).map((pattern) => pattern.slice(0, -1));
  return (model) => exact.has(model) || prefixes.some((prefix) => model.startsWith(prefix));
}
