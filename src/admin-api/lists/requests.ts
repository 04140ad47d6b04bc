/** List of the last finished requests of each node. */

import { choice, integer, nullable, object, optional, text, time } from "../../base/index.ts";
import { defineList, filter, filteredQuery } from "../list-definition.ts";

/** Maximum number of requests that a node remembers. */
export const KEPT_REQUESTS = 2_000;

/** Traffic types, named as in access rules; a WebSocket session has its own. */
const REQUEST_HOPS = ["llm", "mcp", "a2a", "websocket"] as const;

export const requests = defineList({
  help: "Lists the last 2,000 requests and sessions that this node has done with, newest first: metadata only.",
  query: filteredQuery({
    id: filter("id"),
    caller: filter("caller"),
    profile: filter("profile"),
    hop: optional(choice("Only those of this hop.", REQUEST_HOPS)),
    model: filter("model"),
    provider: filter("provider"),
    status: optional(integer("Only those with this status.", { minimum: 100, maximum: 599 })),
    code: filter("code"),
  }),
  row: object("A request or session that is over, be it answered, refused or abandoned. Metadata only.", {
    time: time("When it came."),
    id: text("Its id, as its answer carried it."),
    caller: nullable(text("Name of the key, the user or the agent; null: not known.")),
    profile: nullable(text("Profile of the caller; null: none.")),
    hop: nullable(
      choice("What it was for; null: for the gateway itself, or it was refused before that was known.", REQUEST_HOPS),
    ),
    route: nullable(text("Its route; of a call of a server or agent the method. Null: none.")),
    model: nullable(text("Model that was asked for, as the client wrote it; null: none.")),
    provider: nullable(text("Provider, server or agent that was asked last, or would have been; null: none.")),
    status: integer("Status of the answer; 499: the client left before its end, 101: a session."),
    code: nullable(text("Code of the refusal, also of one within the answer; null: none.")),
    attempts: integer("Attempts at providers."),
    ttfb_ms: nullable(integer("Milliseconds until an upstream's answer began; null: none did.")),
    total_ms: integer("Milliseconds until its end."),
    input_tokens: nullable(integer("Tokens that providers told of its input; null: not counted, or none told.")),
    output_tokens: nullable(integer("The same of its output.")),
    decided_by: nullable(
      text(
        "What refused it, as `budget day`; else the guardrail rules that acted, or the access rule that let it pass.",
      ),
    ),
    node: text("Node that served it."),
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
