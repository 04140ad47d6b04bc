/** The external processing service of a node. Source: ext-proc reference, A.8, C.2; design decisions, section 19. */
import { loadExtProc } from "../ext-proc/index.ts";
import type { Inspector, InspectorOptions } from "./options.ts";
import { serveStream } from "./stream.ts";
import { createStreams } from "./streams.ts";
import type { Call } from "./talk.ts";

/** Beside the body, of one message. */
const MESSAGE_OVERHEAD_BYTES = 1 << 20;

/** For the status of streams that are ended, once their time is over. */
const LAST_WORD_MS = 2_000;

export async function openInspector(options: InspectorOptions): Promise<Inspector> {
  const { grpc, ExternalProcessor } = await loadExtProc();
  const server = new grpc.Server({
    "grpc.max_receive_message_length": options.maxBodyBytes + MESSAGE_OVERHEAD_BYTES,
    "grpc.max_concurrent_streams": options.maxStreams,
  });
  const streams = createStreams(options);
  const serving = { options, streams, codes: grpc.status };
  server.addService(ExternalProcessor.service, { Process: (call: Call) => serveStream(call, serving) });
  const port = await new Promise<number>((resolve, reject) => {
    const credentials = grpc.ServerCredentials.createInsecure();
    server.bindAsync(options.address, credentials, (error, bound) => (error === null ? resolve(bound) : reject(error)));
  });
  return {
    port,
    async close(graceMs) {
      const closed = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      const failing = setTimeout(streams.stopAll, graceMs);
      // What was just said must leave first.
      const forcing = setTimeout(() => server.forceShutdown(), graceMs + LAST_WORD_MS);
      await closed;
      clearTimeout(failing);
      clearTimeout(forcing);
    },
  };
}
