/** Finds the MCP server or agent that a path names. Source: specification document 1, Listeners; mcp-registry reference, 6. */
import type { FrontedSnapshot } from "../../../snapshot/index.ts";
import type { FrontedKind, FrontedServer } from "../../../upstream/index.ts";

export interface AgentPath {
  readonly kind: FrontedKind;
  /** Server or agent; `undefined` if the name is not configured. Only authenticated callers get an answer that says so. */
  readonly fronted: FrontedServer | undefined;
  /** Decoded name from the path; empty if the path is not that of a server or agent, or of its card. */
  readonly name: string;
  /** Requested resource. `card`: the card of an agent, which needs no credential. */
  readonly resource: "call" | "card";
  /** Query without its question mark. */
  readonly query: string;
}

/** Matches the prefix of both kinds. A path without a name matches too, so that the refusal can name the right path. */
const KIND = /^\/(mcp|a2a)(?:[/?]|$)/;

const CARD = "/.well-known/agent-card.json";
/** Path of the card in older revisions of A2A, which are not served. */
const OLD_CARD = "/.well-known/agent.json";

/** Returns the server or agent that the path names, or `undefined` for a path of neither kind. */
export function parseAgentPath(url: string, fronted: FrontedSnapshot): AgentPath | undefined {
  const [, named] = KIND.exec(url) ?? [];
  const kind: FrontedKind | undefined = named === "mcp" || named === "a2a" ? named : undefined;
  if (kind === undefined) return undefined;
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  const query = mark < 0 ? "" : url.slice(mark + 1);
  if (kind === "a2a" && path.endsWith(OLD_CARD)) return { kind, fronted: undefined, name: "", resource: "card", query };
  const isCard = kind === "a2a" && path.endsWith(CARD);
  const name = path.slice(kind.length + 2, isCard ? -CARD.length : undefined).replace(/\/$/, "");
  const asked = decoded(name);
  return { kind, fronted: fronted.at(kind, asked), name: asked, resource: isCard ? "card" : "call", query };
}

/** Returns the message for a path that names no server or agent. Clients of other transports add paths of their own. */
export function unknownNameMessage({ kind, name }: AgentPath, fronted: FrontedSnapshot): string {
  const what = kind === "mcp" ? "MCP server" : "agent";
  for (let end = name.lastIndexOf("/"); end > 0; end = name.lastIndexOf("/", end - 1)) {
    if (fronted.at(kind, name.slice(0, end)) === undefined) continue;
    const binding = kind === "mcp" ? "Streamable HTTP" : "JSON-RPC";
    return `The ${what} is served at \`/${kind}/NAME\` alone, over ${binding}, and this path goes on after its name.`;
  }
  return `No ${what} of this name is configured.`;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return "";
  }
}
