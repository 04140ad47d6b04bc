/**
 * Refuses WebSocket sessions on routes that do not support them, with a status that makes clients fall back to HTTP at once.
 * Source: design decisions, section 20 (WebSocket where the route is not carried).
 */
import { asRefusal, type GatewayError } from "../../../../base/index.ts";
import { findRoute } from "../../../core/dialects/index.ts";
import type { Routed, Snapshot } from "../../../snapshot/index.ts";
import { webSocketRefusal } from "../../match-route.ts";
import { mayServeRoute } from "../model/choose-channel.ts";
import type { RouteMatch } from "../model/resolve-target.ts";

/** Statuses of an upstream without WebSocket support. */
const UNSUPPORTED_STATUSES: ReadonlySet<number> = new Set([400, 404, 405, 501]);

const RESPONSES = "responses_ws";
const RESPONSES_HTTP_ROUTE = findRoute("POST", "/v1/responses");

/**
 * Returns the provider for a session without a model. Each event of a Responses session may name another model, which over HTTP
 * may belong to another provider. So the session is allowed only if exactly one provider can serve the Responses API. Throws
 * `websocket_not_carried`.
 */
export function providerWithoutModel(
  { providers, modelless }: Snapshot,
  { route, dialect }: RouteMatch,
): Routed | undefined {
  if (route.name !== RESPONSES || RESPONSES_HTTP_ROUTE === undefined) return modelless;
  const able = providers.filter((provider) => mayServeRoute(provider, RESPONSES_HTTP_ROUTE, dialect));
  const [only] = able;
  if (only !== undefined && able.length === 1) return { provider: only, label: "none" };
  throw webSocketRefusal("The handshake names no model, and more than one provider could serve it", "model");
}

/** Converts the refusal that no channel fits into the refusal of a session; returns other refusals unchanged. */
export function asWebSocketRefusal(thrown: unknown): GatewayError {
  const refusal = asRefusal(thrown);
  if (refusal.code !== "fidelity_loss") return refusal;
  const summary = refusal.message.replace(/[:.][^:.]*\.?$/, "");
  return webSocketRefusal(summary, refusal.param);
}

/** Returns the refusal that replaces the upstream's, or `undefined` if the client receives the upstream's. */
export const refusalInsteadOf = (status: number, { route }: Pick<RouteMatch, "route">): GatewayError | undefined =>
  route.name === RESPONSES && UNSUPPORTED_STATUSES.has(status)
    ? webSocketRefusal(`The provider has no WebSocket here (it answered ${status})`)
    : undefined;

/** Calls a function. Its refusals become those that WebSocket clients understand. */
export function refusingAsNotSupported<T>(admitting: () => T): T {
  try {
    return admitting();
  } catch (error) {
    throw asWebSocketRefusal(error);
  }
}
