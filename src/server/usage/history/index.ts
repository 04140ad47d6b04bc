/** A quarter of an hour of what this node measured. */
export { BUCKET_MS, createHistory, type History, KEPT_BUCKETS, MAX_SERIES, type Point } from "./history.ts";
