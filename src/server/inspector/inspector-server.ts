/** Runs the external processing service of a node. Source: ext-proc reference, A.8, C.2; design decisions, section 19. */
import { formatAddress, parseAddress } from "../../base/index.ts";
import { loadExtProc } from "../ext-proc/index.ts";
import { createConnectionRecycling } from "./connection-recycling.ts";
import type { Call } from "./grpc-call.ts";
import { createHealth } from "./health.ts";
import { serveStream } from "./inspected-grpc-stream.ts";
import type { Inspector, InspectorOptions } from "./options.ts";
import { createStreamRegistry } from "./stream-registry.ts";

/** Time to send the status of ended streams, in milliseconds. */
const STATUS_DELIVERY_MS = 2_000;

/**
 * Interval of keepalive pings, in milliseconds. Together with the timeout below, they detect a peer whose machine disappeared.
 */
const KEEPALIVE_MS = 60_000;
const KEEPALIVE_ANSWER_MS = 20_000;

/** Starts the server. Rejects if the address cannot be bound; the message names it. */
export async function openInspector(options: InspectorOptions): Promise<Inspector> {
  const { maxMessageBytes, maxStreams } = options;
  const { grpc, ExternalProcessor } = await loadExtProc();
  const server = new grpc.Server({
    "grpc.max_receive_message_length": maxMessageBytes,
    "grpc.max_concurrent_streams": maxStreams,
    "grpc.keepalive_time_ms": KEEPALIVE_MS,
    "grpc.keepalive_timeout_ms": KEEPALIVE_ANSWER_MS,
  });
  const streams = createStreamRegistry(options);
  const serving = { options, streams, recycleConnections: createConnectionRecycling(), codes: grpc.status };
  server.addService(ExternalProcessor.service, { Process: (call: Call) => serveStream(call, serving) });
  const health = await createHealth(grpc);
  health.addTo(server);
  const { host, shown } = hostOf(options.address);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(host, grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(unboundError(options.address, error)),
    );
  });
  return {
    address: formatAddress({ host: shown, port }),
    port,
    openStreams: streams.count,
    heldBytes: streams.heldBytes,
    async close(graceMs) {
      health.stopServing();
      const closed = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      const failing = setTimeout(streams.stopAll, graceMs);
      // Messages that were just written must be sent first.
      const forcing = setTimeout(() => server.forceShutdown(), graceMs + STATUS_DELIVERY_MS);
      await closed;
      clearTimeout(failing);
      clearTimeout(forcing);
    },
  };
}

/** Returns the host for gRPC, which requires one, and the address to show. */
function hostOf(address: string): { readonly host: string; readonly shown: string } {
  const parsed = parseAddress(address);
  if (parsed === undefined) throw new Error(`inspector: ${JSON.stringify(address)} is not host:port or :port`);
  const shown = parsed.host ?? "::";
  return { host: formatAddress({ host: shown, port: parsed.port }), shown };
}

/** Returns an error with the system's error code, which gRPC gives only within its message and which startup reports need. */
function unboundError(address: string, cause: Error): Error {
  const code = /\b(E[A-Z]{4,})\b/.exec(cause.message)?.[1];
  return Object.assign(
    new Error(`inspector: cannot listen on ${address}: ${cause.message}`, { cause }),
    code && { code },
  );
}
