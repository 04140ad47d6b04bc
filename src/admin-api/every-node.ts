/** Reads from all nodes: their query parameter, and the members of their answers that name nodes without rows. */

import { choice, list, optional, text } from "../base/index.ts";

/** Query parameters of lists that each node measures. */
export const EVERY_NODE = {
  nodes: optional(
    choice(
      "`all`: of every member of the cluster, each row with its `node`; `unanswered` names those that gave none within a second, `cut` those that have more than an answer takes.",
      ["all"],
    ),
  ),
} as const;

/** Members of an answer to `nodes=all`. */
export const ANSWERED_BY = {
  unanswered: optional(list("With `nodes=all`: nodes that gave no answer within a second.", text("Node id."))),
  cut: optional(list("With `nodes=all`: nodes of which some rows were left out.", text("Node id."))),
} as const;
