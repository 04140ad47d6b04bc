/** Facts about a provider in the catalog (endpoints, claims, quirks); policy belongs to the deployment document. */

import type { Dialect } from "../dialects/index.ts";

/** The header a channel reads its key from; `both` sends `x-api-key` and `authorization` with the same key. */
export type KeyHeader = "bearer" | "x-api-key" | "api-key" | "both";

/** `provider`: the maker's own API. `provider_compat`: a second API, kept for clients of another dialect. */
export type Tier = "provider" | "provider_compat";

export interface Channel {
  /** Unique in the provider. */
  readonly id: string;
  readonly dialect: Dialect;
  readonly tier: Tier;
  /** Root without a trailing slash; may still hold `{placeholders}` until it is resolved. */
  readonly baseUrl: string;
  /** Put between root and path; empty, or starting with a slash. */
  readonly pathPrefix: string;
  /** Taken off the front of the incoming path before it is appended; empty takes nothing. */
  readonly stripPathPrefix: string;
  /** Model ids or trailing-`*` prefixes that this channel serves; empty serves all. */
  readonly models: readonly string[];
  /** Claimed capabilities, exact; undefined claims all that the dialect can express. */
  readonly caps: ReadonlySet<string> | undefined;
  /** Whether its models are Claude's: each then has the claims minus `lackedByClaude`. False if an operator states the claims. */
  readonly servesClaude: boolean;
  readonly keyHeader: KeyHeader;
  readonly docs: string;
  /** `YYYY-MM-DD` or `YYYY-MM`: the date of the source, not of our commit. Empty where an own surface's source has none. */
  readonly verifiedAt: string;
  readonly verifiedBy: string;
}

export interface CatalogProvider {
  readonly name: string;
  /** Usual environment variable of the key; informational. */
  readonly keyEnv: string;
  readonly docs: string;
  readonly removeRequestFields: readonly string[];
  /** Removed fields that an operator named: losing them refuses nothing. */
  readonly strippedFields: readonly string[];
  /** Top-level field to the exact JSON text it is forced to. */
  readonly setRequestFields: ReadonlyMap<string, string>;
  /** Old top-level name to new; a field that is present under its new name already is kept and the old one dropped. */
  readonly renameRequestFields: ReadonlyMap<string, string>;
  readonly setRequestHeaders: ReadonlyMap<string, string>;
  readonly removeRequestHeaders: readonly string[];
  /** False if the server refuses `stream_options`; usage is then requested only if the operator says so. */
  readonly acceptsStreamUsage: boolean;
  /** The compat field that identifies the end user: OpenAI renamed it, most others know the old name only. */
  readonly endUserField: "user" | "safety_identifier";
  /** Whether a credential is optional, as for a self-hosted server. */
  readonly keyOptional: boolean;
  /** The signing service of the `cloudsig` credential; empty where requests are not signed. */
  readonly signingService: string;
  /** Own surface first. */
  readonly channels: readonly Channel[];
  /** `compiled`, then each overlay that touched the provider, in order. */
  readonly provenance: readonly string[];
}

export type Catalog = ReadonlyMap<string, CatalogProvider>;
