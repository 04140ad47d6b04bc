/** Which fronted server or agent a path names. Source: specification document 1, Listeners; mcp-registry reference, 6. */
import type { FrontedSnapshot } from "../../../snapshot/index.ts";
import type { Fronted, FrontedKind } from "../../../upstream/index.ts";

export interface AgentPlace {
  readonly kind: FrontedKind;
  /** Undefined: nobody of that name is configured, which only who is known here is told. */
  readonly fronted: Fronted | undefined;
  /** The name, as the path has it. */
  readonly asked: string;
  /** `card`: the card of an agent, which needs no credential. */
  readonly wants: "call" | "card";
  /** Without its question mark. */
  readonly query: string;
}

/** Without a name it is of nobody, and its client is told where they are. */
const KIND = /^\/(mcp|a2a)(?:[/?]|$)/;

const CARD = "/.well-known/agent-card.json";

/** Undefined: the path is of neither. */
export function agentPlace(url: string, fronted: FrontedSnapshot): AgentPlace | undefined {
  const [, named] = KIND.exec(url) ?? [];
  const kind: FrontedKind | undefined = named === "mcp" || named === "a2a" ? named : undefined;
  if (kind === undefined) return undefined;
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  const query = mark < 0 ? "" : url.slice(mark + 1);
  const isCard = kind === "a2a" && path.endsWith(CARD);
  const name = path.slice(kind.length + 2, isCard ? -CARD.length : undefined).replace(/\/$/, "");
  const asked = decoded(name);
  return { kind, fronted: fronted.at(kind, asked), asked, wants: isCard ? "card" : "call", query };
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return "";
  }
}
