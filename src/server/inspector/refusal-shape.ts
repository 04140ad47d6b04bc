/** Writes a refusal in the dialect or protocol that the client of the proxied request speaks. */
import { randomUUID } from "node:crypto";
import type { GatewayError } from "../../base/index.ts";
import {
  grpcStatusOf,
  type ProxiedShape,
  proxiedRefusal,
  proxiedStatus,
  shapeByHeaders,
} from "../core/agents/index.ts";
import {
  type Dialect,
  findRoute,
  refusalBody,
  refusalEvent,
  refusalHeaders,
  type StreamStamp,
} from "../core/dialects/index.ts";
import type { HeaderList } from "./exchange/index.ts";
import { arrivalOf, dialectPath, headerValue, pathOf } from "./header-list.ts";
import type { ImmediateRefusal } from "./wire.ts";

/** Refusal for a client that has already received headers or part of the body. */
export interface LateRefusal {
  readonly late: Buffer;
  readonly sets: ReadonlyMap<string, string>;
}

const REQUEST_ID = /^[\w.:-]{1,128}$/;
const GRPC = /^\s*application\/grpc\b/i;

/** Builds a refusal. `read`: protocol found in the body; if absent, the headers determine it. */
export function shapedRefusal(error: GatewayError, headers: HeaderList, read?: ProxiedShape): ImmediateRefusal {
  const requestId = requestIdOf(headers);
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

/**
 * Builds the refusal of a response that has begun. `stream`: set if the response is an event stream. Otherwise its status and
 * headers may not have been sent yet.
 */
export function lateRefusal(
  error: GatewayError,
  headers: HeaderList,
  read: ProxiedShape | undefined,
  stream: { readonly stamp: StreamStamp | undefined } | undefined,
): LateRefusal {
  const refused = shapedRefusal(error, headers, read);
  if (stream === undefined) {
    const sets = new Map([[":status", String(refused.status)]]);
    for (let at = 0; at + 1 < refused.headers.length; at += 2) {
      sets.set(refused.headers[at] ?? "", refused.headers[at + 1] ?? "");
    }
    return { late: Buffer.from(refused.body), sets };
  }
  const shape = read ?? shapeByHeaders(arrivalOf(headers));
  const event =
    shape === undefined
      ? refusalEvent(dialectOf(headers), error, requestIdOf(headers), stream.stamp)
      : `event: message\ndata: ${refused.body}\n\n`;
  return { late: Buffer.from(event), sets: new Map() };
}

function requestIdOf(headers: HeaderList): string {
  const named = headerValue(headers, "x-request-id");
  return REQUEST_ID.test(named) ? named : randomUUID();
}

function dialectOf(headers: HeaderList): Dialect {
  const route = findRoute(headerValue(headers, ":method"), dialectPath(pathOf(headers)));
  if (route?.dialect === "messages") return "messages";
  return route?.dialect === "compat" || headerValue(headers, "anthropic-version") === "" ? "compat" : "messages";
}
