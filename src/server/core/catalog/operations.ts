/**
 * Applies a valid overlay operation to a provider. Spec: document 3, `catalog_overlays[]`.
 *
 * Claims are explicit sets: a list replaces the earlier claims and is not merged with them. Facts that an operation has no key
 * for (the key's header, renamed fields, the signing service) are kept when a provider or channel is replaced, since an
 * operator could not restore them.
 */

import type { ChannelOperation, ProviderOperation } from "../config/index.ts";
import { defaultClaims } from "../dialects/index.ts";
import { trimmed } from "./join-url.ts";
import { untrueClaims } from "./operation-rules.ts";
import { whollyLostWithout } from "./removed-fields.ts";
import { defaultKeyHeader, withRoot } from "./root-address-rules.ts";
import type { CatalogProvider, Channel } from "./types.ts";

/** Result of an operation on a provider; `undefined` if the provider was removed. */
export type Applied =
  | { readonly kind: "applied"; readonly provider: CatalogProvider | undefined }
  | { readonly kind: "refused"; readonly messages: readonly string[] };

/** Values that a channel inherits from its provider. */
interface Inherited {
  readonly dialect: Channel["dialect"] | undefined;
  readonly baseUrl: string | undefined;
  readonly stripPathPrefix: string;
  readonly docs: string;
  readonly removeRequestFields: readonly string[];
}

/** Builds the whole provider for `add` and `replace`. `present` is the provider that it replaces. */
export function definedProvider(
  operation: ProviderOperation,
  present: CatalogProvider | undefined,
  source: string,
): Applied {
  const inherited: Inherited = {
    dialect: operation.schema?.name,
    baseUrl: operation.base_url,
    stripPathPrefix: operation.strip_path_prefix ?? "",
    docs: operation.docs ?? "",
    removeRequestFields: operation.remove_request_fields ?? [],
  };
  const channelOperations: readonly ChannelOperation[] =
    operation.channels !== undefined && operation.channels.length > 0
      ? operation.channels
      : [{ id: operation.schema?.name ?? "" }];
  const channels: Channel[] = [];
  for (const change of channelOperations) {
    const before = present?.channels.find(({ id }) => id === change.id);
    const channel = definedChannel(change, inherited, before);
    if (channel === undefined) return refusal(incomplete(change));
    channels.push(channel);
  }
  return {
    kind: "applied",
    provider: {
      name: operation.name,
      keyEnv: operation.key_env ?? "",
      docs: inherited.docs,
      removeRequestFields: inherited.removeRequestFields,
      strippedFields: inherited.removeRequestFields,
      setRequestFields: new Map(
        Object.entries(operation.set_request_fields ?? {}).map(([field, value]) => [field, JSON.stringify(value)]),
      ),
      renameRequestFields: present?.renameRequestFields ?? new Map(),
      setRequestHeaders: new Map(
        Object.entries(operation.set_request_headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
      ),
      removeRequestHeaders: (operation.remove_request_headers ?? []).map((name) => name.toLowerCase()),
      acceptsStreamUsage: present?.acceptsStreamUsage ?? true,
      endUserField: present?.endUserField ?? "user",
      signsCalls: present?.signsCalls ?? false,
      keyOptional: present?.keyOptional ?? false,
      signingService: present?.signingService ?? "",
      channels: ownSurfaceFirst(channels),
      provenance: [...(present?.provenance ?? []), source],
    },
  };
}

/** Applies a `patch`: root, key variable, documentation, then each channel, in this order. */
export function patchedProvider(operation: ProviderOperation, present: CatalogProvider, source: string): Applied {
  const root = operation.base_url;
  const oldRoot = present.channels[0]?.baseUrl;
  let channels: readonly Channel[] = present.channels;
  // A channel with a root of its own keeps it; only an operation on that channel changes it.
  if (root !== undefined) {
    channels = channels.map((channel) => (channel.baseUrl === oldRoot ? withRoot(channel, root) : channel));
  }
  for (const change of operation.channels ?? []) {
    const changed = patchedChannels(channels, change, present, operation.docs ?? present.docs);
    if (typeof changed === "string") return refusal(changed);
    channels = changed;
  }
  if (channels.length === 0) return refusal("no channel would be left; use `remove` to take the provider out");
  return {
    kind: "applied",
    provider: {
      ...present,
      keyEnv: operation.key_env ?? present.keyEnv,
      docs: operation.docs ?? present.docs,
      channels: ownSurfaceFirst(channels),
      provenance: [...present.provenance, source],
    },
  };
}

/** Returns the channels after one change, or a message if the change is invalid. */
function patchedChannels(
  channels: readonly Channel[],
  change: ChannelOperation,
  provider: CatalogProvider,
  docs: string,
): readonly Channel[] | string {
  const before = channels.find(({ id }) => id === change.id);
  if (change.op === "add" && before !== undefined) return `channel \`${change.id}\` exists already; use \`replace\``;
  if (change.op !== "add" && before === undefined) return `there is no channel \`${change.id}\``;
  if (change.op === "remove") return channels.filter((channel) => channel !== before);
  const own = channels[0];
  const dialect = change.dialect ?? before?.dialect ?? own?.dialect;
  const channel = definedChannel(
    change,
    {
      dialect,
      baseUrl: before?.baseUrl ?? own?.baseUrl,
      stripPathPrefix: (before ?? channels.find((other) => other.dialect === dialect))?.stripPathPrefix ?? "",
      docs,
      removeRequestFields: provider.removeRequestFields,
    },
    before,
  );
  if (channel === undefined) return incomplete(change);
  const untrue = untrueClaims(change, provider.removeRequestFields);
  if (untrue[0] !== undefined) return untrue[0];
  return before === undefined ? [...channels, channel] : channels.map((other) => (other === before ? channel : other));
}

function definedChannel(
  change: ChannelOperation,
  inherited: Inherited,
  before: Channel | undefined,
): Channel | undefined {
  const dialect = change.dialect ?? inherited.dialect;
  const root = change.base_url ?? inherited.baseUrl;
  if (dialect === undefined || root === undefined) return undefined;
  return {
    id: change.id,
    dialect,
    tier: change.tier ?? "provider",
    baseUrl: trimmed(root),
    pathPrefix: trimmed(change.path_prefix ?? ""),
    stripPathPrefix: trimmed(inherited.stripPathPrefix),
    models: change.models ?? [],
    caps: claims(change, dialect, inherited.removeRequestFields),
    servesClaude: false,
    keyHeader: before?.dialect === dialect ? before.keyHeader : defaultKeyHeader(dialect, root),
    docs: change.docs ?? inherited.docs,
    verifiedAt: change.verified_at ?? "",
    verifiedBy: change.verified_by ?? "",
  };
}

/** Returns the claims of a channel. Without explicit claims it claims the whole dialect, minus what removed fields carry. */
function claims(change: ChannelOperation, dialect: Channel["dialect"], removed: readonly string[]): Channel["caps"] {
  if (change.caps !== undefined) return new Set(change.caps);
  const lost = whollyLostWithout(removed, dialect);
  return lost.size === 0 ? undefined : new Set([...defaultClaims(dialect)].filter((name) => !lost.has(name)));
}

function ownSurfaceFirst(channels: readonly Channel[]): readonly Channel[] {
  const isOwn = ({ tier }: Channel): boolean => tier === "provider";
  return [...channels.filter(isOwn), ...channels.filter((channel) => !isOwn(channel))];
}

function incomplete({ id }: ChannelOperation): string {
  return `channel \`${id}\` needs a dialect and a base_url, its own or the provider's`;
}

function refusal(message: string): Applied {
  return { kind: "refused", messages: [message] };
}
