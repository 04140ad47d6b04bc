/** Finds the MCP server or agent of a request, and refuses browser pages of other origins. */
import { GatewayError } from "../../../../base/index.ts";
import { isForeignPage } from "../../../core/agents/index.ts";
import type { Snapshot } from "../../../snapshot/index.ts";
import { forwardTargetOf } from "../../../upstream/index.ts";
import { CARD_HEADERS } from "../../discovery/card-document.ts";
import type { Exchange } from "../../exchange.ts";
import { dialectOf } from "../../match-route.ts";
import type { Ports } from "../../ports.ts";
import { dialectForm, rpcForm } from "../../refusal-form.ts";
import { type AgentPath, parseAgentPath } from "./agent-path.ts";

/**
 * Returns the server or agent that the path names, or `undefined` if it names none. Throws `forbidden` for a page of another
 * origin.
 */
export function resolveAgent(exchange: Exchange, snapshot: Snapshot, { metrics }: Ports): AgentPath | undefined {
  const { request } = exchange;
  const agentPath = parseAgentPath(request.url ?? "/", snapshot.fronted);
  if (agentPath === undefined) return undefined;
  const { kind, fronted, resource } = agentPath;
  const isCard = resource === "card";
  if (isCard) exchange.form = dialectForm(dialectOf(request), CARD_HEADERS);
  else {
    exchange.form = rpcForm(kind);
    exchange.report.facts.hop = kind;
  }
  exchange.report.labels = metrics.labels(isCard ? "card" : kind, fronted && forwardTargetOf(fronted).name);
  const { host, origin } = request.headers;
  const { publicOrigin } = snapshot.governance;
  const isForeign = isForeignPage({
    host,
    // A listed origin needs no check: the operator has allowed it.
    origin: exchange.crossOrigin?.isListed === true ? undefined : origin,
    isLoopback: isLoopback(request.socket.localAddress),
    publicOrigin,
  });
  if (isForeign) throw new GatewayError("forbidden", "The Host or Origin header names another site than this gateway.");
  return agentPath;
}

const isLoopback = (address = ""): boolean => /^(?:::ffff:)?127\.|^::1$/.test(address);
