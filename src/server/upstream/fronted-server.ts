/**
 * Compiles an MCP server or agent of the configuration for the request path. Source: specification document 3, `mcp[]`, `a2a[]`.
 */
import type { Deployment } from "../core/config/index.ts";
import type { Credential } from "../credentials/index.ts";

export type FrontedKind = "mcp" | "a2a";

type McpServer = NonNullable<Deployment["mcp"]>[number];
type A2aAgent = NonNullable<Deployment["a2a"]>[number];

export interface FrontedServer {
  readonly kind: FrontedKind;
  /** Configured name, used in rules, suspensions and lists. */
  readonly name: string;
  /** All names that select it in a path after `/mcp/` or `/a2a/`: the configured name, then the registry's. */
  readonly pathNames: readonly string[];
  readonly channel: FrontedChannel;
  /** URL as written in the configuration. */
  readonly shownUrl: string;
  /** Path and query at the origin, as configured. */
  readonly path: string;
  readonly costPerCall: number;
  /** Entity types whose original values are restored in calls of this server or agent. */
  readonly restore: ReadonlySet<string>;
  /** URL of an agent's own card. */
  readonly cardUrl: string | undefined;
}

interface FrontedChannel {
  readonly id: string;
  /** Origin in the form `scheme://host[:port]`. */
  readonly origin: string;
  readonly isFronted: true;
  /** Value of the `host` header. */
  readonly host: string;
  /** Origin that may be shown, or the text of the configuration with its unresolved references. */
  readonly shownOrigin: string;
  /** Credential to present; `undefined` for none. */
  readonly credential: Credential | undefined;
}

const NOUNS: Readonly<Record<FrontedKind, string>> = { mcp: "MCP server", a2a: "Agent" };

/**
 * Returns the fields of an upstream that an attempt reports. There is no retry and no failover, because a call may have taken
 * effect.
 */
export const forwardTargetOf = ({ kind, name }: Pick<FrontedServer, "kind" | "name">) => ({
  name: `${kind}:${name}`,
  noun: `${NOUNS[kind]} ${name}`,
  firstByteTimeoutMs: undefined,
  retry: undefined,
});

const WELL_KNOWN_CARD = "/.well-known/agent-card.json";

/** Compiles a server or agent. `writtenUrl`: the address as written in the configuration. */
export function compileFrontedServer(
  kind: FrontedKind,
  config: McpServer | A2aAgent,
  credential: Credential | undefined,
  writtenUrl: string,
): FrontedServer {
  const { name, url, cost_per_call: costPerCall, restore = [] } = config;
  const { origin, host, pathname, search } = new URL(url);
  const registry = "registry" in config ? config.registry?.name : undefined;
  const cardUrl = "card_url" in config ? config.card_url : undefined;
  return Object.freeze({
    kind,
    name,
    pathNames: registry === undefined ? [name] : [name, registry],
    channel: {
      id: kind,
      origin,
      isFronted: true as const,
      host,
      shownOrigin: writtenUrl === url ? origin : writtenUrl,
      credential,
    },
    shownUrl: writtenUrl,
    path: pathname + search,
    costPerCall,
    restore: new Set(restore),
    cardUrl: kind === "a2a" ? (cardUrl ?? origin + WELL_KNOWN_CARD) : undefined,
  });
}
