/** A provider compiled for the request path: every look-up is prepared here, once per configuration. */
import { HOP_BY_HOP_HEADERS, parseDuration } from "../../base/index.ts";
import { type CatalogProvider, type Channel, compileJoin, lackedByClaude } from "../core/catalog/index.ts";
import type { ProviderConfig } from "../core/config/index.ts";
import { claimableIn, type Dialect, evidenceOf, type ObjectEdits, usableIn } from "../core/dialects/index.ts";
import { CREDENTIAL_HEADERS, type Credential, keyHeaders } from "../credentials/index.ts";
import { compilePool, type PoolSpec } from "./pools/index.ts";

export type Trigger = "connect" | "5xx" | "429" | "timeout";

export interface RetryPolicy {
  /** Number of retries, 1 to 5. */
  readonly attempts: number;
  readonly when: ReadonlySet<Trigger>;
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  /** A 429 that requests a longer wait is not waited for. */
  readonly retryAfterCapMs: number;
}

export interface UpstreamChannel {
  readonly id: string;
  readonly dialect: Dialect;
  /** `scheme://host[:port]`. */
  readonly origin: string;
  /** Value of the `host` header. */
  readonly host: string;
  /** Origin that may be shown, or the text of the configuration with its unresolved references. */
  readonly shownOrigin: string;
  /** Servers behind that name; `undefined` for a single server. */
  readonly pool: PoolSpec | undefined;
  /** Maps an incoming path, without its query, to the path at the origin. */
  readonly pathOf: (incomingPath: string) => string;
  /** True for the maker's own surface, false for one that is kept for clients of another dialect. */
  readonly isOwnSurface: boolean;
  /** `undefined` if it claims everything that its dialect can express. */
  readonly caps: ReadonlySet<string> | undefined;
  readonly claims: (capability: string) => boolean;
  /** Returns the same channel with the capabilities that the model has. `model` is the name that the provider is sent. */
  readonly forModel: (model: string) => UpstreamChannel;
  /**
   * Texts that indicate capabilities which the channel does not claim: a request of its own dialect that contains none of them
   * loses nothing here. Empty if no request can lose anything. `undefined` if the request must be parsed to find out.
   */
  readonly lossEvidence: readonly Buffer[] | undefined;
  /** `undefined` if it serves every model. */
  readonly servesModel: ((model: string) => boolean) | undefined;
  /** Credential to present; `undefined` if the client's own is forwarded. */
  readonly credential: Credential | undefined;
  /** Header pairs that present a client's own key, for a request that is not forwarded as the client wrote it. */
  readonly presenting: (key: string) => readonly string[];
}

export interface Provider {
  readonly name: string;
  /** Catalog name, or its own name if it is not in the catalog; identifies who signs and seals its thinking blocks. */
  readonly maker: string;
  readonly channels: readonly UpstreamChannel[];
  /** Pool of its channels; `undefined` if they have none. */
  readonly pool: PoolSpec | undefined;
  /** Models that clients ask for, mapped to those that the provider is sent. */
  readonly aliases: ReadonlyMap<string, string>;
  /** `undefined` if the catalog does not change the body. */
  readonly bodyEdits: ObjectEdits | undefined;
  /** Top-level fields that the operator removes; `undefined` for none. */
  readonly strippedFields: ReadonlySet<string> | undefined;
  /** Lower-case names of request headers that are not forwarded. */
  readonly droppedHeaders: ReadonlySet<string>;
  /** Header pairs added to each request. */
  readonly addedHeaders: readonly string[];
  /** Policy for a request that would lose something here. */
  readonly onFidelityLoss: "reject" | "allow";
  /** True if the server knows `stream_options`, or if the operator declares it. */
  readonly acceptsStreamUsage: boolean;
  /** Field that identifies the end user; compat only. */
  readonly endUserField: CatalogProvider["endUserField"];
  /** Adds a request for usage to streamed compat calls, and removes the extra chunk from the answer. */
  readonly asksStreamUsage: boolean;
  /** The operator's own metadata, for access rules. */
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
 * Headers beyond the hop-by-hop ones: those that the client connection writes itself, `expect`, which our server has answered,
 * and a browser's statements about its page, which this gateway has checked; some providers refuse pages by them.
 */
const NEVER_FORWARDED: readonly string[] = [
  ...HOP_BY_HOP_HEADERS,
  "host",
  "content-length",
  "expect",
  "origin",
  "sec-fetch-site",
];

/** Headers from which some servers take method, path, organization or project: with our credential, clients may not set them. */
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

/** Settings of the document for all providers, and how it writes this one. */
export interface ProviderDefaults {
  readonly onFidelityLoss: "reject" | "allow";
  /** Some feature counts usage: `stream_usage` defaults to on. */
  readonly readsUsage: boolean;
  /** Address as written in the configuration, if it contains references. */
  readonly writtenAddress?: string | undefined;
}

/** `credentialOf` returns the credential of a channel; `undefined` if the client's own is forwarded. */
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
  const claimed: ReadonlySet<string> = channel.caps ?? claimableIn(channel.dialect);
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
    forModel: channel.servesClaude ? (model) => keptBy(lackedByClaude(model)) : () => compiled,
    lossEvidence: evidenceOf(
      channel.dialect,
      [...usableIn(channel.dialect)].filter((capability) => !claimed.has(capability)),
    ),
    servesModel: channel.models.length === 0 ? undefined : matcher(channel.models),
    credential,
    presenting: (clientKey) => keyHeaders(channel.keyHeader, clientKey),
  };
  // Size is limited by the ways in which models differ, whatever names clients invent.
  const byLack = new Map<string, UpstreamChannel>();
  function keptBy(lacked: readonly string[]): UpstreamChannel {
    const name = lacked.join(" ");
    let kept = byLack.get(name);
    if (kept === undefined) {
      const caps = new Set([...claimed].filter((capability) => !lacked.includes(capability)));
      kept = { ...compiled, caps, claims: (capability) => caps.has(capability), lossEvidence: undefined };
      byLack.set(name, kept);
    }
    return kept;
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

/** The schema admits only valid durations; a timer beyond 31 bits would fire immediately. */
function timerMs(text: string): number {
  return Math.min(parseDuration(text) ?? 0, MAX_TIMER_MS);
}

/** Matches exact names and prefixes with a trailing `*`. */
export function matcher(patterns: readonly string[]): (model: string) => boolean {
  const exact = new Set(patterns.filter((pattern) => !pattern.endsWith("*")));
  const prefixes = patterns.filter((pattern) => pattern.endsWith("*")).map((pattern) => pattern.slice(0, -1));
  return (model) => exact.has(model) || prefixes.some((prefix) => model.startsWith(prefix));
}
