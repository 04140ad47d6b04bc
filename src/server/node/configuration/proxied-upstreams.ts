/** Lists the upstreams that are reached through a forward proxy, for `check` and `GET /status`. */
import type { Deployment, NodeFile } from "../../core/config/index.ts";
import { type ForwardProxies, hostOf, isPrivateAddress } from "../../forward-proxy/index.ts";
import { DEFAULT_ENDPOINT } from "../../models/index.ts";
import type { Snapshot } from "../../snapshot/index.ts";
import { PUBLIC_DIRECTORY } from "../tls/acme-settings.ts";
import type { Configuration } from "./configuration-types.ts";

interface ProxiedUpstream {
  readonly upstream: string;
  /** Address of the proxy, without credentials. */
  readonly proxy: string;
}

interface UpstreamSources {
  readonly nodeFile: NodeFile;
  readonly snapshot: Snapshot | undefined;
  readonly document: Deployment | undefined;
}

/**
 * Returns the proxied upstreams. A server or agent with a host name counts as one; if the name resolves to a private address, it
 * is reached directly.
 */
export function proxiedUpstreams(sources: UpstreamSources, proxies: ForwardProxies): readonly ProxiedUpstream[] {
  const found = new Map<string, ProxiedUpstream>();
  for (const { upstream, address, isFronted } of addressesOf(sources)) {
    if (!URL.canParse(address)) continue;
    const url = new URL(address);
    const proxy = proxies.proxyFor(url)?.displayAddress;
    if (proxy === undefined || (isFronted && isPrivateAddress(hostOf(url)) === true)) continue;
    found.set(`${upstream} ${proxy}`, { upstream, proxy });
  }
  return [...found.values()];
}

interface Address {
  readonly upstream: string;
  readonly address: string;
  readonly isFronted: boolean;
}

function* addressesOf({ nodeFile, snapshot, document }: UpstreamSources): Generator<Address> {
  const at = (upstream: string, address: string | undefined, isFronted = false): Address[] =>
    address === undefined || address === "" ? [] : [{ upstream, address, isFronted }];
  for (const { name, pool, channels } of snapshot?.providers ?? []) {
    if (pool !== undefined) continue;
    for (const { origin } of channels) yield* at(`provider ${name}`, origin);
  }
  for (const { kind, name, channel, cardUrl } of snapshot?.fronted.all ?? []) {
    for (const address of [channel.origin, cardUrl]) {
      yield* at(`${kind === "mcp" ? "MCP server" : "agent"} ${name}`, address, true);
    }
    const { credential } = channel;
    if (credential?.kind === "oauth") yield* at(`token endpoint of ${credential.name}`, credential.tokenUrl);
  }
  for (const { name, url, jwks_url: keys } of nodeFile.issuers ?? []) {
    for (const address of [url, keys]) yield* at(`issuer ${name}`, address);
  }
  for (const { provider, baseUrl } of snapshot?.reconcileTargets?.providers ?? [])
    yield* at(`usage report of ${provider}`, baseUrl);
  for (const { name, hub } of document?.models?.models ?? []) {
    if (hub !== undefined) yield* at(`model ${name}`, hub.endpoint || DEFAULT_ENDPOINT);
  }
  if (nodeFile.tls?.domains !== undefined) yield* at("certificate authority", nodeFile.tls.ca || PUBLIC_DIRECTORY);
}

/** Returns the upstreams of the running configuration. */
export function upstreamsOf(nodeFile: NodeFile, configuration: Pick<Configuration, "running">): UpstreamSources {
  const running = configuration.running();
  const compiled = running?.compiled;
  const snapshot = compiled?.kind === "compiled" ? compiled.snapshot : undefined;
  return { nodeFile, snapshot, document: running?.deployment.document };
}
