/** A refusal as the client of the proxied request reads it: in the dialect or the protocol that it speaks. */
import { randomUUID } from "node:crypto";
import type { GatewayError } from "../../base/index.ts";
import {
  grpcStatusOf,
  type ProxiedShape,
  proxiedRefusal,
  proxiedStatus,
  shapeByHeaders,
} from "../core/agents/index.ts";
import { type Dialect, findRoute, refusalBody, refusalHeaders } from "../core/dialects/index.ts";
import type { HeaderList } from "./exchange/index.ts";
import { arrivalOf, dialectPath, headerValue, pathOf } from "./header-value.ts";
import type { Refused } from "./wire.ts";

const NAMED = /^[\w.:-]{1,128}$/;
const GRPC = /^\s*application\/grpc\b/i;

/** `read`: of its body, where that was read; else what its head tells. */
export function shapedRefusal(error: GatewayError, headers: HeaderList, read?: ProxiedShape): Refused {
  const named = headerValue(headers, "x-request-id");
  const requestId = NAMED.test(named) ? named : randomUUID();
  const shape = read ?? shapeByHeaders(arrivalOf(headers));
  const isGrpc = GRPC.test(headerValue(headers, "content-type"));
  return {
    status: shape === undefined ? error.status : proxiedStatus(shape, error),
    headers: ["content-type", "application/json", ...refusalHeaders(error, requestId)],
    body:
      shape === undefined ? refusalBody(dialectOf(headers), error, requestId) : proxiedRefusal(shape, error, requestId),
    details: error.code,
    grpcStatus: isGrpc ? grpcStatusOf(error.status).code : undefined,
  };
}

function dialectOf(headers: HeaderList): Dialect {
  const route = findRoute(headerValue(headers, ":method"), dialectPath(pathOf(headers)));
  if (route?.dialect === "messages") return "messages";
  return route?.dialect === "compat" || headerValue(headers, "anthropic-version") === "" ? "compat" : "messages";
}
