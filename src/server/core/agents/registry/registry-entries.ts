/**
 * Publishes fronted MCP servers as registry entries. Where and how a server is reached is never published. Source:
 * mcp-registry reference, 2, 3 and 6; MCP registry, `server.json` 2025-12-11.
 */
import type { Deployment } from "../../config/index.ts";

const SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";
const OFFICIAL = "io.modelcontextprotocol.registry/official";
const NO_VERSION = "0.0.0";

type McpServer = NonNullable<Deployment["mcp"]>[number];
type Identity = NonNullable<McpServer["registry"]>;

export interface RegistryEntry {
  /** Name of the server in the configuration (`mcp[].name`), which rules read as `server`. */
  readonly server: string;
  readonly name: string;
  readonly version: string;
  /** Time of the last change, as RFC 3339 in UTC. */
  readonly updatedAt: string;
  /** Searchable text: name, title and description in lower case. */
  readonly searchText: string;
  /** JSON text of the entry (`ServerResponse`). */
  readonly json: string;
}

/**
 * Returns the entries ordered by name. `publicUrl` has no final slash. `changedAt` returns the time of the server's last
 * change, as RFC 3339.
 */
export function registryEntries(
  servers: readonly McpServer[],
  publicUrl: string,
  changedAt: (server: string) => string,
): readonly RegistryEntry[] {
  return servers
    .flatMap(({ name, registry }) =>
      registry === undefined ? [] : [entryOf(name, registry, publicUrl, changedAt(name))],
    )
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

function entryOf(server: string, identity: Identity, publicUrl: string, updatedAt: string): RegistryEntry {
  const { name, title, description, website_url: websiteUrl, repository, icons } = identity;
  const version = identity.version === undefined || identity.version === "" ? NO_VERSION : identity.version;
  const detail = {
    $schema: SCHEMA,
    name,
    ...(title !== undefined && title !== "" && { title }),
    description,
    version,
    ...(websiteUrl !== undefined && { websiteUrl }),
    ...(repository !== undefined && {
      repository: {
        url: repository.url,
        source: repository.source,
        ...(repository.subfolder !== undefined && repository.subfolder !== "" && { subfolder: repository.subfolder }),
      },
    }),
    ...(icons !== undefined && icons.length > 0 && { icons: icons.map(iconOf) }),
    remotes: [{ type: "streamable-http", url: `${publicUrl}/mcp/${name}` }],
  };
  const official = {
    status: "active",
    statusChangedAt: updatedAt,
    publishedAt: updatedAt,
    updatedAt,
    isLatest: true,
  };
  return {
    server,
    name,
    version,
    updatedAt,
    searchText: [name, title ?? "", description].join("\n").toLowerCase(),
    json: JSON.stringify({ server: detail, _meta: { [OFFICIAL]: official } }),
  };
}

const iconOf = ({ src, mime_type: mimeType, sizes, theme }: NonNullable<Identity["icons"]>[number]) => ({
  src,
  ...(mimeType !== undefined && { mimeType }),
  ...(sizes !== undefined && sizes.length > 0 && { sizes }),
  ...(theme !== undefined && { theme }),
});
