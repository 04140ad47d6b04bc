/** Facts about a provider in the catalog (endpoints, claims, quirks); policy belongs to the deployment document. */

import type { Dialect } from "../dialects/index.ts";

/** Header in which the key is sent to a channel. `both` sends it in `x-api-key` and `authorization`. */
export type KeyHeader = "bearer" | "x-api-key" | "api-key" | "both";

/** `provider`: the maker's own API. `provider_compat`: a second API, kept for clients of another dialect. */
type Tier = "provider" | "provider_compat";

export interface Channel {
  /** Identifier, unique within the provider. */
  readonly id: string;
  readonly dialect: Dialect;
  readonly tier: Tier;
  /** Root address without a trailing slash. Can contain `{placeholders}` until it is resolved. */
  readonly baseUrl: string;
  /** Path between root and request path. Empty, or starts with a slash. */
  readonly pathPrefix: string;
  /** Prefix that is removed from the incoming path before it is appended. Empty removes nothing. */
  readonly stripPathPrefix: string;
  /** Model ids or trailing-`*` prefixes that this channel serves; empty serves all. */
  readonly models: readonly string[];
  /** Exact set of claimed capabilities; `undefined` claims everything that the dialect can express. */
  readonly caps: ReadonlySet<string> | undefined;
  /**
   * True if its models are Claude models: each then has the claims minus `lackedByClaude`. False if an operator states the
   * claims.
   */
  readonly servesClaude: boolean;
  readonly keyHeader: KeyHeader;
  readonly docs: string;
  /** Date of the source (`YYYY-MM-DD` or `YYYY-MM`), not of the commit. Empty if the source has none. */
  readonly verifiedAt: string;
  readonly verifiedBy: string;
}

export interface CatalogProvider {
  readonly name: string;
  /** Usual environment variable of the key, for information. */
  readonly keyEnv: string;
  readonly docs: string;
  readonly removeRequestFields: readonly string[];
  /** Fields that an operator chose to remove. Losing them does not refuse a request. */
  readonly strippedFields: readonly string[];
  /** Exact JSON text that each of these top-level fields is set to. */
  readonly setRequestFields: ReadonlyMap<string, string>;
  /** New name for each of these top-level fields. If the new name is already present, it is kept and the old field dropped. */
  readonly renameRequestFields: ReadonlyMap<string, string>;
  readonly setRequestHeaders: ReadonlyMap<string, string>;
  readonly removeRequestHeaders: readonly string[];
  /** False if the server refuses `stream_options`. Usage is then requested only if the operator enables it. */
  readonly acceptsStreamUsage: boolean;
  /** Compat field that identifies the end user. OpenAI renamed it; most other providers only know the old name. */
  readonly endUserField: "user" | "safety_identifier";
  /** True if the server refuses calls in the history that do not have its signature (Gemini 3). */
  readonly signsCalls: boolean;
  /** True if a credential is optional, as for a self-hosted server. */
  readonly keyOptional: boolean;
  /** Signing service of the `cloudsig` credential. Empty if requests are not signed. */
  readonly signingService: string;
  /** Channels, the provider's own API first. */
  readonly channels: readonly Channel[];
  /** `compiled`, followed by each overlay that changed the provider, in order. */
  readonly provenance: readonly string[];
}

export type Catalog = ReadonlyMap<string, CatalogProvider>;
