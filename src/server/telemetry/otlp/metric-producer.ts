/**
 * Converts the gateway's instruments to OTLP metrics: the series of `/metrics`, with the same names, labels, values and bounds.
 * Metrics of OpenTelemetry's conventions keep their names, which the scrape converts.
 *
 * Counters become cumulative monotonic sums, gauges stay gauges, and histograms become cumulative ones with explicit bounds. The
 * gateway's own metrics have no unit, because their names contain it and collectors that write Prometheus series would append it
 * a second time. A value that is not a number (a gauge that could not be read) cannot be represented in OTLP and is left out.
 */

import { type HrTime, ValueType } from "@opentelemetry/api";
import { core, metrics, resources } from "@opentelemetry/sdk-node";
import type { HistogramSeries, InstrumentReading, Instruments } from "../../../base/index.ts";

type Point<Value> = metrics.DataPoint<Value>;

interface ProducerOptions {
  readonly instruments: Instruments;
  /** Updates the values that are read from the system. */
  readonly sample: () => void;
  readonly scope: { readonly name: string; readonly version: string };
  /** Returns the time in milliseconds since 1970. */
  readonly now: () => number;
}

export function createMetricProducer({ instruments, sample, scope, now }: ProducerOptions): metrics.MetricProducer {
  const startTime = core.millisToHrTime(now());
  // The reader replaces this by the provider's own resource.
  const resource = resources.emptyResource();
  return {
    async collect() {
      sample();
      const endTime = core.millisToHrTime(now());
      const series = instruments.read().map((reading) => metricOf(reading, startTime, endTime));
      return { resourceMetrics: { resource, scopeMetrics: [{ scope, metrics: series }] }, errors: [] };
    },
  };
}

function metricOf(reading: InstrumentReading, startTime: HrTime, endTime: HrTime): metrics.MetricData {
  const base = {
    descriptor: {
      name: reading.name,
      description: reading.help,
      unit: reading.unit ?? "",
      valueType: ValueType.DOUBLE,
    },
    aggregationTemporality: metrics.AggregationTemporality.CUMULATIVE,
  };
  const point = <Value>(labelValues: readonly string[], value: Value): Point<Value> => ({
    startTime,
    endTime,
    attributes: Object.fromEntries(
      reading.labelNames
        .map((name, at) => [name, labelValues[at] ?? ""] as const)
        // In OpenTelemetry's conventions an attribute that does not apply is absent.
        .filter(([, text]) => text !== "" || reading.unit === undefined),
    ),
    value,
  });
  if (reading.kind === "histogram") {
    return {
      ...base,
      dataPointType: metrics.DataPointType.HISTOGRAM,
      dataPoints: reading.series.map((series) => point(series.labelValues, histogramOf(series, reading.bounds))),
    };
  }
  const dataPoints = reading.series
    .filter(({ value }) => Number.isFinite(value))
    .map(({ labelValues, value }) => point(labelValues, value));
  if (reading.kind === "gauge") return { ...base, dataPointType: metrics.DataPointType.GAUGE, dataPoints };
  return { ...base, dataPointType: metrics.DataPointType.SUM, isMonotonic: true, dataPoints };
}

function histogramOf({ cumulative, sum }: HistogramSeries, bounds: readonly number[]): metrics.Histogram {
  const counts = cumulative.map((total, at) => total - (cumulative[at - 1] ?? 0));
  return { buckets: { boundaries: [...bounds], counts }, sum, count: cumulative.at(-1) ?? 0 };
}
