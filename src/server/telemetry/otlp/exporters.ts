/**
 * Creates the exporter of each signal for a destination. Each reads its own environment variables: endpoint, headers, timeout,
 * compression, certificates. Only the requested package is loaded.
 */

import { logs, metrics, tracing } from "@opentelemetry/sdk-node";
import type { Destination } from "./settings.ts";

export async function spanExporterFor(destination: Destination): Promise<tracing.SpanExporter> {
  if (destination.kind === "console") return new tracing.ConsoleSpanExporter();
  switch (destination.protocol) {
    case "grpc":
      return new (await import("@opentelemetry/exporter-trace-otlp-grpc")).OTLPTraceExporter();
    case "http/json":
      return new (await import("@opentelemetry/exporter-trace-otlp-http")).OTLPTraceExporter();
    case "http/protobuf":
      return new (await import("@opentelemetry/exporter-trace-otlp-proto")).OTLPTraceExporter();
    default:
      return destination.protocol satisfies never;
  }
}

export async function recordExporterFor(destination: Destination): Promise<logs.LogRecordExporter> {
  if (destination.kind === "console") return new logs.ConsoleLogRecordExporter();
  switch (destination.protocol) {
    case "grpc":
      return new (await import("@opentelemetry/exporter-logs-otlp-grpc")).OTLPLogExporter();
    case "http/json":
      return new (await import("@opentelemetry/exporter-logs-otlp-http")).OTLPLogExporter();
    case "http/protobuf":
      return new (await import("@opentelemetry/exporter-logs-otlp-proto")).OTLPLogExporter();
    default:
      return destination.protocol satisfies never;
  }
}

export async function metricExporterFor(destination: Destination): Promise<metrics.PushMetricExporter> {
  if (destination.kind === "console") return new metrics.ConsoleMetricExporter();
  switch (destination.protocol) {
    case "grpc":
      return new (await import("@opentelemetry/exporter-metrics-otlp-grpc")).OTLPMetricExporter();
    case "http/json":
      return new (await import("@opentelemetry/exporter-metrics-otlp-http")).OTLPMetricExporter();
    case "http/protobuf":
      return new (await import("@opentelemetry/exporter-metrics-otlp-proto")).OTLPMetricExporter();
    default:
      return destination.protocol satisfies never;
  }
}
