/**
 * What inspection costs behind a real Envoy: the same requests through the same Envoy, asked of the inspector with a detector
 * of cards, and of a service that answers each message and looks at nothing. One after the other, in turns.
 *
 *   npm run bench:inspector
 *
 * Prints milliseconds, p50 and p99, and their ratio.
 */
import * as grpc from "@grpc/grpc-js";
import { nullLog } from "../../src/base/index.ts";
import { loadExtProc, type ProcessingRequest__Output } from "../../src/server/ext-proc/index.ts";
import { beginInspecting, type InspectingWith, openInspector } from "../../src/server/inspector/index.ts";
import { createAdmission, DEFAULT_ADMISSION } from "../../src/server/memory/index.ts";
import { peer } from "../peers/index.ts";
import { countedMetrics, guardOf } from "../server/dataplane/support/guards.ts";
import { openUpstream, startEnvoy } from "../server/inspector/envoy.ts";

const ROUNDS = 20;
const REQUESTS = 25;
const CARDS = { name: "cards", type: "pii", prefilter: "pure", entities: ["CREDIT_CARD"] };

async function openEmpty(): Promise<{ readonly port: number; readonly close: () => void }> {
  const { ExternalProcessor } = await loadExtProc();
  const server = new grpc.Server();
  server.addService(ExternalProcessor.service, {
    Process(call: grpc.ServerDuplexStream<ProcessingRequest__Output, object>) {
      call.on("data", ({ request }: ProcessingRequest__Output) => {
        if (request !== undefined) call.write({ [request]: {} });
      });
      call.on("end", () => call.end());
      call.on("error", () => undefined);
    },
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return { port, close: () => server.forceShutdown() };
}

function openInspecting() {
  const guard = guardOf({ detectors: [CARDS], rules: [{ name: "mask", action: "redact" }] });
  const using: InspectingWith = {
    hasResponses: false,
    guardrails: () => ({ of: () => guard }) as unknown as ReturnType<InspectingWith["guardrails"]>,
    sinks: { trail: undefined, metrics: countedMetrics().metrics, log: nullLog },
  };
  return openInspector({
    address: "127.0.0.1:0",
    mode: "streamed",
    responses: undefined,
    maxMessageBytes: 5 << 20,
    account: createAdmission({ ...DEFAULT_ADMISSION, maxBufferedBytes: 64 << 20 }),
    maxStreams: 1_000,
    maxQuietMs: 60_000,
    maxSilentMs: 60_000,
    begin: () => ({ maxBodyBytes: 4 << 20, ...beginInspecting(using) }),
    observer: { counted: () => undefined, inspected: () => undefined },
    log: nullLog,
  });
}

function bodyOf(bytes: number): Buffer {
  const words = "the quick brown fox jumps over the lazy dog ".repeat(Math.ceil(bytes / 44)).slice(0, bytes - 60);
  return Buffer.from(JSON.stringify({ model: "m", messages: [{ role: "user", content: words }] }));
}

const at = (sorted: readonly number[], share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0;

const envoy = await peer("envoy");
if (envoy.missing !== false) throw new Error(String(envoy.missing));
const empty = await openEmpty();
const inspector = await openInspecting();
const upstream = await openUpstream();
const modes = { request: "streamed", response: "off" } as const;
const proxies = [
  ["empty", await startEnvoy(envoy.path, modes, { inspector: empty.port, upstream: upstream.port })],
  ["inspector", await startEnvoy(envoy.path, modes, { inspector: inspector.port, upstream: upstream.port })],
] as const;
try {
  for (const bytes of [1_000, 64_000]) {
    for (const isChunked of [false, true]) {
      const body = bodyOf(bytes);
      const took = new Map<string, number[]>();
      for (let round = 0; round <= ROUNDS; round++) {
        for (const [name, proxy] of proxies) {
          const times = took.get(name) ?? [];
          for (let request = 0; request < REQUESTS; request++) {
            const began = performance.now();
            const { status } = await proxy.post(body, { isChunked });
            if (status !== 200) throw new Error(`${name} answered ${status}`);
            // The first round warms up.
            if (round > 0) times.push(performance.now() - began);
          }
          took.set(name, times);
        }
        upstream.bodies.length = 0;
      }
      const [base = [], own = []] = [...took.values()].map((times) => times.toSorted((one, other) => one - other));
      const row = [0.5, 0.99].map((share) => {
        const ratio = at(own, share) / at(base, share);
        return `p${share * 100} ${at(own, share).toFixed(2)} beside ${at(base, share).toFixed(2)} (${ratio.toFixed(2)})`;
      });
      process.stdout.write(`${bytes} bytes, ${isChunked ? "streamed" : "whole"}: ${row.join(", ")}\n`);
    }
  }
} finally {
  for (const [, proxy] of proxies) await proxy.stop();
  await inspector.close(0);
  empty.close();
  await upstream.close();
}
