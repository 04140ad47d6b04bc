/**
 * Batches records with a limit that applies whatever the collector does: queued and pending records count together. If a
 * collector answers late or never, further records are dropped and counted, and memory stays constant.
 *
 * The library's own queues do not include pending batches in their limit, and do not count the records that they drop.
 */

import type { metrics } from "@opentelemetry/sdk-node";
import { core, logs, tracing } from "@opentelemetry/sdk-node";
import type { ExportProblems, Queue } from "./export-problems.ts";
import type { BatchBounds } from "./settings.ts";

type ExportCallback = (result: core.ExportResult) => void;

/** Space for records, up to a limit. */
interface QueueSpace {
  readonly hasSpace: () => boolean;
  readonly add: () => void;
  readonly release: (count: number) => void;
}

function createQueueSpace(limit: number): QueueSpace {
  let held = 0;
  return {
    hasSpace: () => held < limit,
    add: () => {
      held++;
    },
    release: (count) => {
      held -= count;
    },
  };
}

export function boundedSpans(
  exporter: tracing.SpanExporter,
  bounds: BatchBounds,
  problems: ExportProblems,
): tracing.SpanProcessor {
  const space = createQueueSpace(bounds.maxQueueSize);
  const batches = new tracing.BatchSpanProcessor(
    {
      export: (spans, done) => runExport(exporter, spans, done, onExported("traces", spans.length, space, problems)),
      shutdown: () => exporter.shutdown(),
    },
    bounds,
  );
  return {
    onStart: () => undefined,
    onEnd(span) {
      if (!space.hasSpace()) return problems.recordDrop("traces");
      space.add();
      batches.onEnd(span);
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  };
}

export function boundedRecords(
  exporter: logs.LogRecordExporter,
  bounds: BatchBounds,
  queue: Queue,
  problems: ExportProblems,
): logs.LogRecordProcessor {
  const space = createQueueSpace(bounds.maxQueueSize);
  const batches = new logs.BatchLogRecordProcessor({
    ...bounds,
    exporter: {
      export: (records, done) => runExport(exporter, records, done, onExported(queue, records.length, space, problems)),
      forceFlush: () => exporter.forceFlush(),
      shutdown: () => exporter.shutdown(),
    },
  });
  return {
    onEmit(record) {
      if (!space.hasSpace()) return problems.recordDrop(queue);
      space.add();
      batches.onEmit(record);
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  };
}

/** Wraps a metrics exporter to report failures. A failed export loses nothing, because the next one carries the same sums. */
export function withFailureReports(
  exporter: metrics.PushMetricExporter,
  problems: ExportProblems,
): metrics.PushMetricExporter {
  return {
    export: (series, done) =>
      runExport(exporter, series, done, ({ code, error }) => {
        if (code !== core.ExportResultCode.SUCCESS) problems.recordFailure("metrics", 0, error);
      }),
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  };
}

function onExported(queue: Queue, count: number, space: QueueSpace, problems: ExportProblems): ExportCallback {
  return ({ code, error }) => {
    space.release(count);
    if (code !== core.ExportResultCode.SUCCESS) problems.recordFailure(queue, count, error);
  };
}

/** Runs an export. `onEnd` is called once for each export, even if it throws instead of answering. */
function runExport<Items>(
  exporter: { export(items: Items, done: ExportCallback): void },
  items: Items,
  done: ExportCallback,
  onEnd: ExportCallback,
): void {
  const settle = (result: core.ExportResult): void => {
    onEnd(result);
    done(result);
  };
  try {
    exporter.export(items, settle);
  } catch (error) {
    settle({ code: core.ExportResultCode.FAILED, error: error instanceof Error ? error : new Error(String(error)) });
  }
}
