/** Records measurements of this node in the last quarter of an hour and in the last hour. */
export {
  createHistory,
  type History,
  type HistorySpan,
  HOUR,
  MAX_SERIES,
  type Point,
  QUARTER_HOUR,
} from "./history.ts";
