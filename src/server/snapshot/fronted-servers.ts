/** Compiles `mcp` and `a2a` to the servers and agents that requests are addressed to. Source: specification document 3. */
import { type RegistryEntry, registryEntries } from "../core/agents/index.ts";
import { type Deployment, registryOwners } from "../core/config/index.ts";
import { type Credential, compileCredential, compileKey } from "../credentials/index.ts";
import { compileFrontedServer, type FrontedKind, type FrontedServer } from "../upstream/index.ts";

export interface FrontedSnapshot {
  /** Servers, then agents, each in document order. */
  readonly all: readonly FrontedServer[];
  /** Returns the server or agent at `path`, the part of the URL after `/mcp/` or `/a2a/`. */
  readonly at: (kind: FrontedKind, path: string) => FrontedServer | undefined;
  /** Servers with a registry identity; `undefined` without `public_url`, since their addresses are unknown. */
  readonly registry: readonly RegistryEntry[] | undefined;
}

interface FrontedInput {
  readonly document: Deployment;
  readonly asWritten: Deployment;
  /** Public URL without a trailing slash. */
  readonly publicUrl: string | undefined;
  /** Returns when an entry of `mcp` was stored, in milliseconds since 1970, equal on all nodes. */
  readonly storedAt: (at: number) => number;
}

interface CredentialReference {
  readonly url: string;
  readonly api_key?: string | undefined;
  readonly credential?: string | undefined;
}

export function compileFrontedSnapshot({ document, asWritten, publicUrl, storedAt }: FrontedInput): FrontedSnapshot {
  const { mcp = [], a2a = [], credentials } = document;
  const credentialOf = ({ api_key: key, credential, url }: CredentialReference): Credential | undefined => {
    if (key !== undefined) return compileKey("", key, "bearer");
    const named = credentials.find(({ name }) => name === credential);
    if (named === undefined) return undefined;
    const at = { origin: new URL(url).origin, keyHeader: "bearer", region: undefined, signingService: "" } as const;
    const compiled = compileCredential(named, at);
    // Signing credentials were refused earlier: only providers can use them.
    return compiled.kind === "credential" ? compiled.credential : undefined;
  };
  const owners = registryOwners(mcp);
  const published = mcp.map(({ registry, ...config }, at) =>
    registry !== undefined && owners.get(registry.name) === at ? { ...config, registry } : config,
  );
  const all = [
    ...published.map((config, at) =>
      compileFrontedServer("mcp", config, credentialOf(config), asWritten.mcp?.[at]?.url ?? config.url),
    ),
    ...a2a.map((config, at) =>
      compileFrontedServer("a2a", config, credentialOf(config), asWritten.a2a?.[at]?.url ?? config.url),
    ),
  ];
  const byPath = new Map(all.flatMap((one) => one.pathNames.map((path) => [`${one.kind}/${path}`, one] as const)));
  return Object.freeze({
    all: Object.freeze(all),
    at: (kind: FrontedKind, path: string) => byPath.get(`${kind}/${path}`),
    registry:
      publicUrl === undefined
        ? undefined
        : registryEntries(published, publicUrl, (server) =>
            new Date(storedAt(mcp.findIndex(({ name }) => name === server))).toISOString(),
          ),
  });
}
