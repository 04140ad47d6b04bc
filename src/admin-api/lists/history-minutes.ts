/** List of the measurements of each node in the last hour, in buckets of a minute. */

import { object, time } from "../../base/index.ts";
import { defineList } from "../list-definition.ts";
import { history } from "./history.ts";

export const historyMinutes = defineList({
  help: "Lists what this node measured in the last hour, in buckets of one minute, by series, oldest first.",
  query: history.query,
  row: object(
    "One minute of the last hour, combined from the rows of `history`. Counts are sums; `in_flight`, `ttfb_p95_ms` and `applied_index` are maximums; other times and sizes are means.",
    { ...history.row.keys, time: time("Start of the minute.") },
  ),
  identity: history.identity,
  get: history.get,
});
