/** List of the measurements of each node in the last hour, in buckets of a minute. */

import { object, time } from "../../base/index.ts";
import { defineList } from "../list-definition.ts";
import { history } from "./history.ts";

export const historyMinutes = defineList({
  help: "Lists what this node measured in the last hour, in buckets of a minute, by series and oldest first.",
  query: history.query,
  row: object(
    "What a node measured in a minute of the last hour, combined from the rows of `history`: counts are sums, `in_flight`, `ttfb_p95_ms` and `applied_index` the largest values, and other times and sizes are means.",
    { ...history.row.keys, time: time("Begin of the minute.") },
  ),
  identity: history.identity,
  get: history.get,
});
