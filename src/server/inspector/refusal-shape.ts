/** A refusal as the client of the proxied request reads it: in the dialect that its path speaks. */
import { randomUUID } from "node:crypto";
import type { GatewayError } from "../../base/index.ts";
import { type Dialect, findRoute, refusalBody, refusalHeaders } from "../core/dialects/index.ts";
import type { HeaderList } from "./exchange/index.ts";
import { dialectPath, headerValue } from "./header-value.ts";
import type { Refused } from "./wire.ts";

const NAMED = /^[\w.:-]{1,128}$/;

export function shapedRefusal(error: GatewayError, headers: HeaderList): Refused {
  const named = headerValue(headers, "x-request-id");
  const requestId = NAMED.test(named) ? named : randomUUID();
  return {
    status: error.status,
    headers: ["content-type", "application/json", ...refusalHeaders(error, requestId)],
    body: refusalBody(dialectOf(headers), error, requestId),
    details: error.code,
  };
}

function dialectOf(headers: HeaderList): Dialect {
  const [path = ""] = headerValue(headers, ":path").split("?");
  const route = findRoute(headerValue(headers, ":method"), dialectPath(path));
  if (route?.dialect === "messages") return "messages";
  return route?.dialect === "compat" || headerValue(headers, "anthropic-version") === "" ? "compat" : "messages";
}
