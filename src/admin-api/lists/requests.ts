/** List of the last finished requests of each node. */

import { choice, integer, nullable, object, optional, text, time } from "../../base/index.ts";
import { defineList, filter, filteredQuery } from "../list-definition.ts";

/** Maximum number of requests that a node remembers. */
export const KEPT_REQUESTS = 2_000;

/** Traffic types, named as in access rules; a WebSocket session has its own. */
const REQUEST_HOPS = ["llm", "mcp", "a2a", "websocket"] as const;

export const requests = defineList({
  help: "Lists the last 2,000 finished requests and sessions of this node, newest first, without their contents.",
  query: filteredQuery({
    id: filter("id"),
    caller: filter("caller"),
    profile: filter("profile"),
    hop: optional(choice("Only rows of this traffic type.", REQUEST_HOPS)),
    model: filter("model"),
    provider: filter("provider"),
    status: optional(integer("Only rows with this status.", { minimum: 100, maximum: 599 })),
    code: filter("code"),
  }),
  row: object("A finished request or session: answered, refused or abandoned by the client. Contents are not kept.", {
    time: time("Time at which the request arrived."),
    id: text("Id of the request, as in the header `x-gateway-request-id` of its answer."),
    caller: nullable(text("Name of the key, user or agent. Null if the caller is not known.")),
    profile: nullable(text("Profile of the caller. Null if it has none.")),
    hop: nullable(
      choice(
        "Traffic type. Null if the gateway itself answered, or if the request was refused before its type was known.",
        REQUEST_HOPS,
      ),
    ),
    route: nullable(text("Route, or the method of a call to an MCP server or agent. Null if there is none.")),
    model: nullable(text("Requested model, as the client wrote it. Null if there is none.")),
    provider: nullable(
      text("Provider, server or agent of the last attempt, or that would have been called. Null if there is none."),
    ),
    status: integer(
      "HTTP status of the answer. 499: the client disconnected before the end. 101: a WebSocket session.",
    ),
    code: nullable(text("Error code, also of an error inside a streamed answer. Null if there was no error.")),
    attempts: integer("Number of attempts at providers."),
    ttfb_ms: nullable(integer("Milliseconds until the upstream's answer began. Null if none began.")),
    total_ms: integer("Milliseconds until the request ended."),
    input_tokens: nullable(
      integer("Input tokens that the provider reported. Null if they were not counted or not reported."),
    ),
    output_tokens: nullable(
      integer("Output tokens that the provider reported. Null if they were not counted or not reported."),
    ),
    decided_by: nullable(
      text(
        "What refused the request, such as `budget day`. Otherwise the guardrail rules that acted, or the access rule that allowed it.",
      ),
    ),
    node: text("Node that served the request."),
  }),
  // The caller may choose the id, so it can repeat.
  identity: ["time", "id", "total_ms", "status", "node"],
  get: {
    about: "traffic",
    aliases: [],
    name: ["id"],
    columns: ["time", "id", "caller", "model", "provider", "status", "code", "total_ms", "decided_by"],
  },
});
