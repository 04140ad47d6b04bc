/**
 * Where WebSocket sessions are carried, and what a client reads elsewhere: one that tries the socket first then goes on by
 * HTTP at once. Source: design decisions, section 20 (WebSocket where the route is not carried).
 */
import { asRefusal, type GatewayError } from "../../../../base/index.ts";
import { findRoute } from "../../../core/dialects/index.ts";
import type { Routed, Snapshot } from "../../../snapshot/index.ts";
import { notCarried } from "../../locate.ts";
import type { Place } from "../model/address.ts";
import { couldServe } from "../model/choose-channel.ts";

/** Of an upstream that has no WebSocket there. */
const WITHOUT_WEBSOCKET: ReadonlySet<number> = new Set([400, 404, 405, 501]);

const RESPONSES = "responses_ws";
const OVER_HTTP = findRoute("POST", "/v1/responses");

/**
 * Who is asked for a session that names no model. Each of its events may name another, so that responses are asked of the
 * provider that alone could serve them: by HTTP each request goes to the provider of its model. Throws
 * `websocket_not_carried`.
 */
export function modellessSession({ providers, modelless }: Snapshot, { route, dialect }: Place): Routed | undefined {
  if (route.name !== RESPONSES || OVER_HTTP === undefined) return modelless;
  const able = providers.filter((provider) => couldServe(provider, OVER_HTTP, dialect));
  const [only] = able;
  if (only !== undefined && able.length === 1) return { provider: only, label: "none" };
  throw notCarried("The handshake names no model, and more than one provider could serve it", "model");
}

/** A refusal for what no channel carries, as of a session. */
export function asNotCarried(thrown: unknown): GatewayError {
  const refusal = asRefusal(thrown);
  if (refusal.code !== "fidelity_loss") return refusal;
  const why = refusal.message.replace(/[:.][^:.]*\.?$/, "");
  return notCarried(why, refusal.param);
}

/** The client's answer in the place of the upstream's refusal; undefined: the client reads that. */
export const inPlaceOf = (status: number, { route }: Pick<Place, "route">): GatewayError | undefined =>
  route.name === RESPONSES && WITHOUT_WEBSOCKET.has(status)
    ? notCarried(`The provider has no WebSocket here (it answered ${status})`)
    : undefined;
