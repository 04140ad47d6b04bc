/**
 * Row types of the preset tables: a preset with its own API, and a second API of a preset. The defaults of omitted fields are
 * in `providerOf`.
 */

import type { Dialect } from "../../dialects/index.ts";
import type { Claims } from "../capability-sets.ts";
import { COMPAT_STRIP, defaultKeyHeader } from "../root-address-rules.ts";
import type { CatalogProvider, Channel, KeyHeader } from "../types.ts";
import { newestDate, type SourceId } from "./preset-sources.ts";

interface Quirks {
  readonly docs?: string;
  readonly keyHeader?: KeyHeader;
  readonly keyOptional?: true;
  readonly remove?: readonly string[];
  readonly rename?: Readonly<Record<string, string>>;
  /** Set if the server refuses `stream_options`. */
  readonly noStreamUsage?: true;
  /** Field that identifies the end user; set if it is not `user`. */
  readonly endUserField?: "safety_identifier";
  /** Set if the server refuses calls in the history that do not have its signature. */
  readonly signsCalls?: true;
  readonly signing?: string;
  readonly servesClaude?: true;
  /** Date of the source, set if the newest source of the row does not describe this API. */
  readonly date?: string;
}

interface SurfaceRow {
  /** Base URL as in the client's SDK, without a final slash. */
  readonly base: string;
  readonly claims: Claims;
  readonly from: readonly SourceId[];
}

export interface PresetRow extends SurfaceRow {
  readonly name: string;
  readonly dialect: Dialect;
  readonly keyEnv: string;
  readonly quirks: Quirks;
}

export interface SecondSurface extends SurfaceRow {
  readonly preset: string;
  readonly dialect: Dialect;
  readonly keyHeader: KeyHeader;
  readonly date: string;
  readonly models: readonly string[];
  readonly servesClaude?: boolean;
}

type PresetArguments = readonly [
  name: string,
  base: string,
  keyEnv: string,
  from: readonly SourceId[],
  claims: Claims,
  quirks?: Quirks,
];

const preset = (dialect: Dialect, [name, base, keyEnv, from, claims, quirks = {}]: PresetArguments): PresetRow => ({
  name,
  dialect,
  base,
  keyEnv,
  from,
  claims,
  quirks,
});

export const compat = (...row: PresetArguments): PresetRow => preset("compat", row);

export const messages = (...row: PresetArguments): PresetRow => preset("messages", row);

/** Sends `max_completion_tokens` as `max_tokens`, the name that older servers know. */
export const OLD_MAX_TOKENS: Quirks = { rename: { max_completion_tokens: "max_tokens" } };

export function providerOf(row: PresetRow, seconds: readonly SecondSurface[]): CatalogProvider {
  const { name, keyEnv, quirks } = row;
  const docs = quirks.docs ?? "";
  const own = {
    ...channelOf(row, "provider", docs, quirks.keyHeader, quirks.date ?? newestDate(row.from)),
    servesClaude: quirks.servesClaude === true,
  };
  return {
    name,
    keyEnv,
    docs,
    removeRequestFields: quirks.remove ?? [],
    strippedFields: [],
    setRequestFields: new Map(),
    renameRequestFields: new Map(Object.entries(quirks.rename ?? {})),
    setRequestHeaders: new Map(),
    removeRequestHeaders: [],
    acceptsStreamUsage: quirks.noStreamUsage !== true,
    endUserField: quirks.endUserField ?? "user",
    signsCalls: quirks.signsCalls === true,
    keyOptional: quirks.keyOptional === true,
    signingService: quirks.signing ?? "",
    channels: [
      own,
      ...seconds.map((second) => ({
        ...channelOf(second, "provider_compat", docs, second.keyHeader, second.date),
        models: second.models,
        servesClaude: second.servesClaude === true,
      })),
    ],
    provenance: ["compiled"],
  };
}

function channelOf(
  { base, dialect, claims, from }: SurfaceRow & { readonly dialect: Dialect },
  tier: Channel["tier"],
  docs: string,
  keyHeader: KeyHeader | undefined,
  verifiedAt: string,
): Channel {
  return {
    id: dialect,
    dialect,
    tier,
    baseUrl: base,
    pathPrefix: "",
    stripPathPrefix: dialect === "compat" ? COMPAT_STRIP : "",
    models: [],
    caps: claims,
    servesClaude: false,
    keyHeader: keyHeader ?? defaultKeyHeader(dialect, base),
    docs,
    verifiedAt,
    verifiedBy: from.join(", "),
  };
}
