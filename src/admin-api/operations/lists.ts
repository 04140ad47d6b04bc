/** Lists without operations on single rows: configuration, measurements and records. */

import { REQUEST_HOPS } from "../columns.ts";
import { HISTORY_KINDS } from "../history-columns.ts";
import { LIST_QUERY, lists, listsMeasured, listsNarrowed, type Operation } from "../operation.ts";
import { choice, integer, object, optional, text } from "../../base/index.ts";
import { USED_HOPS } from "../usage-columns.ts";

/** Maximum number of requests that a node remembers. */
export const KEPT_REQUESTS = 2_000;

const only = (what: string) => optional(text(`Only those with this ${what}.`, { maxLength: 256 }));

/** Default number of usage rows in an answer. */
export const LISTED_USAGE = 1_000;

const USAGE_QUERY = object("How a list is read, and which rows of it.", {
  ...LIST_QUERY.keys,
  limit: optional(integer(`At most so many rows; ${LISTED_USAGE} when left out.`, { minimum: 1, maximum: 100_000 })),
  hour: only("hour"),
  hop: optional(choice("Only those of this hop.", USED_HOPS)),
  caller: only("caller"),
  profile: only("profile"),
  provider: only("provider"),
  model: only("model"),
});

export const listOperations = {
  list_profiles: lists("profiles", "Lists the profiles of the configuration."),
  list_budgets: listsMeasured("budgets", "Lists the buckets of the budgets in their current windows."),
  list_refusals: listsMeasured(
    "refusals",
    "Lists what this node refused in the last hour, by caller, code and what refused it: a rule, a budget, a credential.",
  ),
  list_requests: listsNarrowed(
    "requests",
    "Lists the last 2,000 requests and sessions that this node has done with, newest first: metadata only.",
    {
      id: only("id"),
      caller: only("caller"),
      profile: only("profile"),
      hop: optional(choice("Only those of this hop.", REQUEST_HOPS)),
      model: only("model"),
      provider: only("provider"),
      status: optional(integer("Only those with this status.", { minimum: 100, maximum: 599 })),
      code: only("code"),
    },
  ),
  list_certificates: listsMeasured(
    "certificates",
    "Lists the front door's certificate; none where it serves plain HTTP.",
  ),
  list_history: listsNarrowed(
    "history",
    "Lists what this node measured in the last 15 minutes, in buckets of 10 seconds, by series and oldest first.",
    { kind: optional(choice("Only those of this kind.", HISTORY_KINDS)), name: only("name") },
  ),
  list_usage: {
    ...lists(
      "usage",
      "Lists what was used, by hour, caller, provider and model, the newest first: hours of the last week, then days of the last 400.",
    ),
    query: USAGE_QUERY,
  },
  list_models: lists("models", "Lists the names that requests may ask for, in the order in which they match."),
  list_mcp_servers: listsMeasured("mcp_servers", "Lists the fronted MCP servers as this node has met them."),
  list_a2a_agents: listsMeasured("a2a_agents", "Lists the fronted A2A agents as this node has met them."),
  list_reconcile: lists("reconcile", "Lists the providers whose usage reports are compared with what was metered."),
  list_reconcile_verdicts: lists("reconcile_verdicts", "Lists what the comparison of each day came to."),
} as const satisfies Record<string, Operation>;
