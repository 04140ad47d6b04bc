/** Reads from all nodes: their query parameter, and the members of their answers that name nodes without rows. */

import { choice, list, optional, text } from "../base/index.ts";

/** Query parameters of lists that each node measures. */
export const EVERY_NODE = {
  nodes: optional(
    choice(
      "`all` returns the rows of every cluster member, each with its `node`. `unanswered` names members that did not answer within a second, and `cut` members that have more rows than fit into an answer.",
      ["all"],
    ),
  ),
} as const;

/** Members of an answer to `nodes=all`. */
export const ANSWERED_BY = {
  unanswered: optional(list("With `nodes=all`: nodes that did not answer within a second.", text("Node id."))),
  cut: optional(list("With `nodes=all`: nodes that have more rows than were returned.", text("Node id."))),
} as const;
