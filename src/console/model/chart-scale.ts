/** Time spans of charts: each is a list of measurements that the nodes keep. Source: design decisions, section 17. */

export type ChartScale = "15m" | "1h";

export interface ScaleSpec {
  readonly list: "list_history" | "list_history_minutes";
  /** Width of a bucket, in milliseconds. */
  readonly bucketMs: number;
  readonly buckets: number;
  /** Span and bucket in words. */
  readonly label: string;
  readonly bucketText: string;
}

export const CHART_SCALES: Readonly<Record<ChartScale, ScaleSpec>> = {
  "15m": {
    list: "list_history",
    bucketMs: 10_000,
    buckets: 90,
    label: "15 minutes",
    bucketText: "ten seconds",
  },
  "1h": { list: "list_history_minutes", bucketMs: 60_000, buckets: 60, label: "1 hour", bucketText: "minute" },
};

export const isChartScale = (value: unknown): value is ChartScale =>
  typeof value === "string" && Object.hasOwn(CHART_SCALES, value);

export const otherScale = (scale: ChartScale): ChartScale => (scale === "15m" ? "1h" : "15m");
