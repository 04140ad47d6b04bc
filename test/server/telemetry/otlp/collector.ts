/**
 * An OTLP/HTTP collector that records its input and parses JSON; and one that accepts connections and never answers.
 */
import { createServer as createHttpServer } from "node:http";
import { createServer, type Socket } from "node:net";
import { gunzipSync } from "node:zlib";
import { listenLocally } from "../../../e2e/support/ports.ts";
import { atEnd, type Owner } from "../../../e2e/support/wait.ts";

interface Posted {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Body without its content encoding. */
  readonly body: Buffer;
}

type Attributes = Readonly<Record<string, unknown>>;

export interface SeenSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  /** 2 server, 3 client. */
  readonly kind: number;
  readonly attributes: Attributes;
  /** 2 error. */
  readonly status: number;
}

interface SeenRecord {
  readonly scope: string;
  readonly body: unknown;
  readonly severity: string;
  readonly attributes: Attributes;
}

export interface SeenMetric {
  readonly name: string;
  readonly unit: string;
  readonly kind: "sum" | "gauge" | "histogram";
  readonly isMonotonic: boolean | undefined;
  readonly points: readonly SeenPoint[];
}

interface SeenPoint {
  readonly attributes: Attributes;
  readonly value: number | undefined;
  readonly counts: readonly number[];
  readonly bounds: readonly number[];
  readonly sum: number | undefined;
  readonly count: number | undefined;
}

export interface Collector {
  readonly url: string;
  readonly posted: readonly Posted[];
  spans(): readonly SeenSpan[];
  records(scope: string): readonly SeenRecord[];
  /** Metrics of the newest export. */
  metrics(): readonly SeenMetric[];
  /** Resource attributes of the first export to this path. */
  resource(path: string): Attributes;
}

export async function startCollector(owner: Owner, status = 200): Promise<Collector> {
  const posted: Posted[] = [];
  const server = createHttpServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const raw = Buffer.concat(chunks);
      const body = request.headers["content-encoding"] === "gzip" ? gunzipSync(raw) : raw;
      posted.push({ path: request.url ?? "", headers: request.headers, body });
      response.writeHead(status, { "content-type": "application/json" }).end("{}");
    });
  });
  const port = await listenLocally(server);
  atEnd(owner, () => {
    server.closeAllConnections();
    server.close();
  });
  const bodies = (path: string): Json[] =>
    posted.filter((it) => it.path === path).map((it) => JSON.parse(it.body.toString()) as Json);
  return {
    url: `http://127.0.0.1:${port}`,
    posted,
    spans: () =>
      bodies("/v1/traces")
        .flatMap((it) => list(it, "resourceSpans"))
        .flatMap((it) => list(it, "scopeSpans"))
        .flatMap((it) => list(it, "spans"))
        .map(readSpan),
    records: (scope) =>
      bodies("/v1/logs")
        .flatMap((it) => list(it, "resourceLogs"))
        .flatMap((it) => list(it, "scopeLogs"))
        .flatMap((it) =>
          list(it, "logRecords").map((record) => readRecord(String(object(it, "scope")["name"]), record)),
        )
        .filter((record) => record.scope === scope),
    metrics: () =>
      bodies("/v1/metrics")
        .slice(-1)
        .flatMap((it) => list(it, "resourceMetrics"))
        .flatMap((it) => list(it, "scopeMetrics"))
        .flatMap((it) => list(it, "metrics"))
        .map(readMetric),
    resource: (path) => {
      const [first] = bodies(path);
      const [part] = Object.values(first ?? {}) as Json[][];
      return attributesOf(object(part?.[0] ?? {}, "resource"));
    },
  };
}

/** Accepts, reads, and never answers. */
export async function startBlackhole(owner: Owner): Promise<{ readonly url: string }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.resume();
  });
  const port = await listenLocally(server);
  atEnd(owner, () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${port}` };
}

type Json = Readonly<Record<string, unknown>>;

function list(of: Json, name: string): readonly Json[] {
  return (of[name] ?? []) as readonly Json[];
}

function object(of: Json, name: string): Json {
  return (of[name] ?? {}) as Json;
}

function attributesOf(of: Json): Attributes {
  return Object.fromEntries(list(of, "attributes").map(({ key, value }) => [String(key), readValue(value as Json)]));
}

function readValue(value: Json): unknown {
  if (value["arrayValue"] !== undefined) return list(object(value, "arrayValue"), "values").map(readValue);
  if (value["kvlistValue"] !== undefined) {
    return attributesOf({ attributes: object(value, "kvlistValue")["values"] });
  }
  return Object.values(value)[0];
}

function readSpan(span: Json): SeenSpan {
  const { name, traceId, spanId, parentSpanId, kind } = span;
  return {
    name: String(name),
    traceId: String(traceId),
    spanId: String(spanId),
    parentSpanId: parentSpanId === undefined ? undefined : String(parentSpanId),
    kind: Number(kind),
    attributes: attributesOf(span),
    status: Number(object(span, "status")["code"]),
  };
}

function readRecord(scope: string, record: Json): SeenRecord {
  return {
    scope,
    body: readValue(object(record, "body")),
    severity: String(record["severityText"]),
    attributes: attributesOf(record),
  };
}

function readMetric(metric: Json): SeenMetric {
  const kind = (["sum", "gauge", "histogram"] as const).find((candidate) => metric[candidate] !== undefined) ?? "gauge";
  const data = object(metric, kind);
  return {
    name: String(metric["name"]),
    unit: String(metric["unit"] ?? ""),
    kind,
    isMonotonic: data["isMonotonic"] as boolean | undefined,
    points: list(data, "dataPoints").map((point) => ({
      attributes: attributesOf(point),
      value: point["asDouble"] as number | undefined,
      counts: (point["bucketCounts"] ?? []) as number[],
      bounds: (point["explicitBounds"] ?? []) as number[],
      sum: point["sum"] as number | undefined,
      count: point["count"] as number | undefined,
    })),
  };
}
