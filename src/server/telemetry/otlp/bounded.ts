/**
 * Batches with a bound that holds whatever the collector does: what is queued and what is on its way count together,
 * so a collector that answers late or never makes records be dropped and counted, and memory stay as it is.
 *
 * The library's own queues leave batches under way out of their bound, and say of what they drop only that they did.
 */

import type { metrics } from "@opentelemetry/sdk-node";
import { core, logs, tracing } from "@opentelemetry/sdk-node";
import type { BatchBounds } from "./settings.ts";
import type { Queue, Trouble } from "./trouble.ts";

type Done = (result: core.ExportResult) => void;

/** How much is held, up to a limit. */
interface Room {
  readonly hasSpace: () => boolean;
  readonly take: () => void;
  readonly free: (count: number) => void;
}

function roomFor(limit: number): Room {
  let held = 0;
  return {
    hasSpace: () => held < limit,
    take: () => {
      held++;
    },
    free: (count) => {
      held -= count;
    },
  };
}

export function boundedSpans(
  exporter: tracing.SpanExporter,
  bounds: BatchBounds,
  trouble: Trouble,
): tracing.SpanProcessor {
  const room = roomFor(bounds.maxQueueSize);
  const batches = new tracing.BatchSpanProcessor(
    {
      export: (spans, done) => watched(exporter, spans, done, counted("traces", spans.length, room, trouble)),
      shutdown: () => exporter.shutdown(),
    },
    bounds,
  );
  return {
    onStart: () => undefined,
    onEnd(span) {
      if (!room.hasSpace()) return trouble.dropped("traces");
      room.take();
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
  trouble: Trouble,
): logs.LogRecordProcessor {
  const room = roomFor(bounds.maxQueueSize);
  const batches = new logs.BatchLogRecordProcessor({
    ...bounds,
    exporter: {
      export: (records, done) => watched(exporter, records, done, counted(queue, records.length, room, trouble)),
      forceFlush: () => exporter.forceFlush(),
      shutdown: () => exporter.shutdown(),
    },
  });
  return {
    onEmit(record) {
      if (!room.hasSpace()) return trouble.dropped(queue);
      room.take();
      batches.onEmit(record);
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  };
}

/** A failed export of metrics loses nothing: the next one carries the same sums. */
export function watchedMetrics(exporter: metrics.PushMetricExporter, trouble: Trouble): metrics.PushMetricExporter {
  return {
    export: (series, done) =>
      watched(exporter, series, done, ({ code, error }) => {
        if (code !== core.ExportResultCode.SUCCESS) trouble.failed("metrics", 0, error);
      }),
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  };
}

function counted(queue: Queue, count: number, room: Room, trouble: Trouble): Done {
  return ({ code, error }) => {
    room.free(count);
    if (code !== core.ExportResultCode.SUCCESS) trouble.failed(queue, count, error);
  };
}

/** `ended` hears of each export once, also of one that throws instead of answering. */
function watched<Items>(
  exporter: { export(items: Items, done: Done): void },
  items: Items,
  done: Done,
  ended: Done,
): void {
  const settle = (result: core.ExportResult): void => {
    ended(result);
    done(result);
  };
  try {
    exporter.export(items, settle);
  } catch (error) {
    settle({ code: core.ExportResultCode.FAILED, error: error instanceof Error ? error : new Error(String(error)) });
  }
}
