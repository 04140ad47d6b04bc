/** An exporter in this process, with its log, clock and instruments. */
import { createInstruments, createLogger, createLogTee, type Instruments } from "../../../../src/base/index.ts";
import { type Otlp, openOtlp } from "../../../../src/server/telemetry/index.ts";
import { atEnd, type Owner } from "../../../e2e/support/wait.ts";

interface Opened {
  readonly otlp: Otlp;
  readonly instruments: Instruments;
  readonly log: ReturnType<typeof createLogger>;
  /** Returns the lines written so far as data. */
  lines(): readonly Readonly<Record<string, unknown>>[];
  /** Returns the value of one series; 0 if there is none. */
  value(name: string, signal: string): number;
  /** Advances the exporter's clock. */
  advance(ms: number): void;
}

/** `env` becomes the process environment until the owner ends, since exporters read it there. */
export async function opened(owner: Owner, env: Readonly<Record<string, string>>): Promise<Opened> {
  for (const name of Object.keys(process.env)) if (name.startsWith("OTEL_")) delete process.env[name];
  Object.assign(process.env, env);
  const written: string[] = [];
  const instruments = createInstruments();
  const tee = createLogTee();
  const stream = { write: (text: string) => void written.push(text) };
  const log = createLogger({ stream, isTerminal: false, level: "info", now: Date.now, tee });
  let skipped = 0;
  const otlp = await openOtlp({
    env,
    instruments,
    sample: () => undefined,
    build: { version: "1.2.3", commit: "abc", node: process.versions.node },
    nodeId: "n1",
    log,
    now: () => Date.now() + skipped,
  });
  if (otlp === undefined) throw new Error("nothing was opened");
  tee.sink = otlp.logSink;
  atEnd(owner, async () => {
    await otlp.close();
    for (const name of Object.keys(env)) delete process.env[name];
  });
  return {
    otlp,
    instruments,
    log,
    lines: () => written.map((line) => JSON.parse(line) as Record<string, unknown>),
    value: (name, signal) => seriesValue(instruments, name, signal),
    advance: (ms) => {
      skipped += ms;
    },
  };
}

function seriesValue(instruments: Instruments, name: string, signal: string): number {
  const reading = instruments.read().find((candidate) => candidate.name === name);
  if (reading === undefined || reading.kind === "histogram") return 0;
  return reading.series.find(({ labelValues }) => labelValues[0] === signal)?.value ?? 0;
}

/** Traces a request with one attempt, from beginning to end. */
export function trace(otlp: Otlp, route = "chat_completions"): void {
  const span = otlp.tracing?.start({ method: "POST", scheme: "http", traceparent: undefined });
  const attempt = span?.startAttempt({ method: "POST", provider: "p", channel: "c", origin: "https://api.example" });
  attempt?.end("answered", 200);
  span?.end({ labels: { route, provider: "p", model: "m" }, status: 200, code: "" });
}
