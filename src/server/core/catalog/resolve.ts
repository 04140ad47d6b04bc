/**
 * Resolves a provider of the deployment document: combines preset, region and base URL into channels with final addresses.
 * Spec: document 3, `providers[]` (`preset`, `dialect`, `base_url`, `region`); provider catalog reference, 1.1, 1.2 and
 * section 5.
 *
 * A resolved channel has no placeholder left, and its root is a well-formed http or https URL.
 */

import { closestName } from "../../../base/index.ts";
import type { Dialect } from "../dialects/index.ts";
import { trimmed } from "./join-url.ts";
import { defaultKeyHeader, placeholders, rootProblem, withRoot } from "./root-address-rules.ts";
import type { Catalog, CatalogProvider, Channel } from "./types.ts";

export interface ResolveRequest {
  /** Provider's name in the deployment document. Used if there is no preset, and in messages. */
  readonly name: string;
  readonly preset?: string | undefined;
  readonly dialect?: Dialect | undefined;
  /** Value of `base_url`, or of the `service` of a pool. */
  readonly baseUrl?: string | undefined;
  readonly region?: string | undefined;
  /** True if requests are signed. Signing needs a region even if the address has no placeholder for one. */
  readonly signs?: boolean;
}

type ResolveOutcome =
  | { readonly kind: "resolved"; readonly provider: CatalogProvider }
  | { readonly kind: "refused"; readonly key: "preset" | "region" | "base_url" | "dialect"; readonly message: string };

/** Characters allowed in a region. They cannot change the host that the region is inserted into. */
const REGION = /^[a-z0-9-]+$/;

/** Maximum length of a DNS label, which a region usually becomes. */
const LONGEST_REGION = 63;

/** Maximum number of preset names in a hint. */
const NAMES_IN_HINT = 6;

export function resolveProvider(catalog: Catalog, request: ResolveRequest): ResolveOutcome {
  const { preset, baseUrl, region } = request;
  if (baseUrl !== undefined) {
    const problem = placeholders(baseUrl).length > 0 ? "must not contain a placeholder" : rootProblem(baseUrl);
    if (problem !== undefined) return refuse("base_url", `base_url ${problem}`);
  }
  if (region !== undefined && (region.length > LONGEST_REGION || !REGION.test(region))) {
    return refuse("region", "a region consists of lower-case letters, digits and hyphens, such as `eu-west-1`");
  }
  return preset === undefined ? declared(request) : fromPreset(catalog, preset, request);
}

function fromPreset(
  catalog: Catalog,
  preset: string,
  { dialect, baseUrl, region, signs = false }: ResolveRequest,
): ResolveOutcome {
  if (dialect !== undefined) return refuse("dialect", "a preset sets the dialect: remove `dialect`");
  const found = catalog.get(preset);
  if (found === undefined) return refuse("preset", unknownPreset(catalog, preset));
  const channels = baseUrl === undefined ? found.channels : ownSurfaceAt(found.channels, baseUrl);
  const named = new Set(channels.flatMap((channel) => placeholders(channel.baseUrl)));
  const unfilled = [...named].find((name) => name !== "region");
  if (unfilled !== undefined) {
    return refuse(
      "base_url",
      `preset \`${preset}\` needs a \`base_url\`: its own has a place for your \`{${unfilled}}\` (${templateOf(channels, unfilled)})`,
    );
  }
  if (region === undefined) {
    return named.has("region")
      ? refuse("region", `preset \`${preset}\` needs a \`region\`, or a \`base_url\``)
      : { kind: "resolved", provider: { ...found, channels } };
  }
  // The region is refused and not ignored: otherwise the operator would believe that data stays there. With a `base_url`, that
  // address decides.
  if (!named.has("region") && baseUrl === undefined && !signs) {
    return refuse("region", `preset \`${preset}\` has no place for a region: set \`base_url\` to the address of yours`);
  }
  const filled = channels.map((channel) => ({ ...channel, baseUrl: channel.baseUrl.replaceAll("{region}", region) }));
  return { kind: "resolved", provider: { ...found, channels: filled } };
}

/**
 * Returns the preset's own API at another root, with the channels that shared its root. Other channels are dropped: the
 * operator named one address, and a request must not go to the preset's public host instead.
 */
function ownSurfaceAt(channels: readonly Channel[], baseUrl: string): readonly Channel[] {
  const root = channels[0]?.baseUrl;
  return channels.filter((channel) => channel.baseUrl === root).map((channel) => withRoot(channel, baseUrl));
}

/** Matches addresses of Google's APIs, whose servers sign calls. */
const GOOGLE = /^https:\/\/[^/:]+\.googleapis\.com(?:[:/]|$)/i;

/** Resolves a provider without a preset. It has one channel, which claims the whole dialect because nothing is known about it. */
function declared({ name, dialect, baseUrl, region, signs = false }: ResolveRequest): ResolveOutcome {
  if (dialect === undefined) return refuse("dialect", "a provider without a preset needs a `dialect`");
  if (baseUrl === undefined) return refuse("base_url", "a provider without a preset needs a `base_url` or a `pool`");
  if (region !== undefined && !signs)
    return refuse("region", "a `region` is for presets and for credentials that sign: write it into the `base_url`");
  const channel: Channel = {
    id: dialect,
    dialect,
    tier: "provider",
    baseUrl: trimmed(baseUrl),
    pathPrefix: "",
    stripPathPrefix: "",
    models: [],
    caps: undefined,
    servesClaude: false,
    keyHeader: defaultKeyHeader(dialect, baseUrl),
    docs: "",
    verifiedAt: "",
    verifiedBy: "",
  };
  return {
    kind: "resolved",
    provider: {
      name,
      keyEnv: "",
      docs: "",
      removeRequestFields: [],
      strippedFields: [],
      setRequestFields: new Map(),
      renameRequestFields: new Map(),
      setRequestHeaders: new Map(),
      removeRequestHeaders: [],
      acceptsStreamUsage: true,
      endUserField: "user",
      signsCalls: GOOGLE.test(baseUrl),
      keyOptional: false,
      signingService: "",
      channels: [channel],
      provenance: [],
    },
  };
}

function unknownPreset(catalog: Catalog, preset: string): string {
  const meant = closestName(preset, catalog.keys());
  const hint =
    meant === undefined
      ? `the catalog has ${catalog.size}, among them ${[...catalog.keys()].slice(0, NAMES_IN_HINT).join(", ")}`
      : `did you mean \`${meant}\`?`;
  return `there is no preset ${JSON.stringify(preset.slice(0, 64))}; ${hint}`;
}

function templateOf(channels: readonly Channel[], placeholder: string): string {
  return channels.find(({ baseUrl }) => placeholders(baseUrl).includes(placeholder))?.baseUrl ?? "";
}

function refuse(key: "preset" | "region" | "base_url" | "dialect", message: string): ResolveOutcome {
  return { kind: "refused", key, message };
}
