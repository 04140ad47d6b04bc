/**
 * The external processing service of a node: streams of peers, each an exchange. Source: ext-proc reference, A.8, C.2; design
 * decisions, section 19.
 */
import type { ServerDuplexStream } from "@grpc/grpc-js";
import { asRefusal, type Log } from "../../base/index.ts";
import {
  type ExtProc,
  loadExtProc,
  type ProcessingRequest__Output,
  type ProcessingResponse,
} from "../ext-proc/index.ts";
import {
  type ExchangeTerms,
  type HeaderList,
  openExchange,
  type Step,
  type StreamFault,
  type Verdict,
  type WholeRequest,
} from "./exchange/index.ts";
import { shapedRefusal } from "./refusal-shape.ts";
import { arrivalOf, messageOf, refusalMessage, UnreadableMessage } from "./wire.ts";

export interface InspectorOptions {
  /** `host:port`. */
  readonly address: string;
  /** `extproc.request_body_mode`. */
  readonly mode: ExchangeTerms["mode"];
  readonly maxBodyBytes: number;
  /** Of all streams together. */
  readonly maxHeldBytes: number;
  readonly maxStreams: number;
  /** Rejects with what refuses the request. The signal: nobody waits for it any more. */
  readonly inspect: (request: WholeRequest, signal: AbortSignal) => Promise<Verdict>;
  readonly counted: (what: Counted) => void;
  readonly log: Pick<Log, "error">;
}

export type Counted = StreamFault | "body_not_sent" | "observed" | "unreadable" | "too_many_streams";

export interface Inspector {
  readonly port: number;
  /** No new stream; those that are open go on until they end, or for so long: then they end with an error. */
  readonly close: (graceMs: number) => Promise<void>;
}

/** Beside the body, of one message. */
const MESSAGE_OVERHEAD_BYTES = 1 << 20;

/** For the status of streams that are ended, once their time is over. */
const LAST_WORD_MS = 2_000;

type Call = ServerDuplexStream<ProcessingRequest__Output, ProcessingResponse>;

export async function openInspector(options: InspectorOptions): Promise<Inspector> {
  const extProc = await loadExtProc();
  const { grpc, ExternalProcessor } = extProc;
  const server = new grpc.Server({
    "grpc.max_receive_message_length": options.maxBodyBytes + MESSAGE_OVERHEAD_BYTES,
    "grpc.max_concurrent_streams": options.maxStreams,
  });
  const open: Streams = { failures: new Set(), heldBytes: 0 };
  server.addService(ExternalProcessor.service, { Process: (call: Call) => serve(call, open, extProc, options) });
  const port = await new Promise<number>((resolve, reject) => {
    const credentials = grpc.ServerCredentials.createInsecure();
    server.bindAsync(options.address, credentials, (error, bound) => (error === null ? resolve(bound) : reject(error)));
  });
  return {
    port,
    async close(graceMs) {
      const closed = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      const failing = setTimeout(() => {
        for (const fail of open.failures) fail();
      }, graceMs);
      // What was just said must leave first.
      const forcing = setTimeout(() => server.forceShutdown(), graceMs + LAST_WORD_MS);
      await closed;
      clearTimeout(failing);
      clearTimeout(forcing);
    },
  };
}

/** Of one server. */
interface Streams {
  /** Each ends a stream with an error, since one that ended well would let its request go on unseen. */
  readonly failures: Set<() => void>;
  heldBytes: number;
}

function serve(call: Call, streams: Streams, { grpc }: ExtProc, options: InspectorOptions): void {
  const { mode, maxBodyBytes, maxHeldBytes, maxStreams, inspect, counted, log } = options;
  const leaving = new AbortController();
  let headers: HeaderList = [];
  let heldBytes = 0;
  let isDone = false;
  let hasLeft = false;
  let isJudging = false;
  const stopping = (): void => fail(grpc.status.UNAVAILABLE, "the inspector stops");
  const exchange = openExchange({ mode, maxBodyBytes, hold });

  call.on("error", () => undefined);
  if (streams.failures.size >= maxStreams) {
    counted("too_many_streams");
    fail(grpc.status.RESOURCE_EXHAUSTED, "the inspector has as many streams as it may");
    return;
  }
  streams.failures.add(stopping);
  call.on("data", (message: ProcessingRequest__Output) => {
    if (isDone) return;
    // Such a filter waits for no answer.
    if (message.observability_mode === true) {
      if (headers.length === 0) counted("observed");
      headers = OBSERVED;
      return;
    }
    guarded(() => {
      const arrival = arrivalOf(message);
      if (arrival === undefined) return;
      if (arrival.kind === "headers" && arrival.side === "request" && headers.length === 0) headers = arrival.headers;
      take(exchange.arrived(arrival));
    });
  });
  call.on("end", () => {
    hasLeft = true;
    if (headers !== OBSERVED) guarded(() => take(exchange.left()));
    if (!isJudging) finish();
  });
  call.on("cancelled", done);
  call.on("drain", () => call.resume());

  function take(steps: readonly Step[]): void {
    for (const step of steps) {
      if (isDone) return;
      switch (step.do) {
        case "answer":
          say(messageOf(step.answer));
          break;
        case "inspect":
          judge(step.request);
          break;
        case "count":
          counted(step.what);
          break;
        case "refuse":
          say(refusalMessage(shapedRefusal(step.error, headers)));
          finish();
          break;
        case "fail":
          counted(step.fault);
          fail(
            step.fault === "mode_mismatch" ? grpc.status.FAILED_PRECONDITION : grpc.status.INVALID_ARGUMENT,
            step.detail,
          );
          break;
        default:
          step satisfies never;
      }
    }
  }

  function judge(request: WholeRequest): void {
    isJudging = true;
    const settle = (verdict: Verdict): void => {
      isJudging = false;
      guarded(() => take(exchange.decided(verdict)));
      if (hasLeft) finish();
    };
    inspect(request, leaving.signal).then(settle, (cause: unknown) =>
      settle({ kind: "refuse", error: asRefusal(cause) }),
    );
  }

  function say(message: ProcessingResponse): void {
    if (!call.write(message)) call.pause();
  }

  function guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (error instanceof UnreadableMessage) {
        counted("unreadable");
        fail(grpc.status.INVALID_ARGUMENT, `the message cannot be read: ${error.message}`);
        return;
      }
      log.error("the inspector failed in a stream", { error });
      fail(grpc.status.INTERNAL, "the inspector failed");
    }
  }

  function hold(bytes: number): boolean {
    if (streams.heldBytes + bytes > maxHeldBytes) return false;
    streams.heldBytes += bytes;
    heldBytes += bytes;
    return true;
  }

  function finish(): void {
    if (isDone) return;
    done();
    call.end();
  }

  function fail(code: number, details: string): void {
    if (isDone) return;
    done();
    call.emit("error", { code, details });
  }

  function done(): void {
    if (isDone) return;
    isDone = true;
    streams.failures.delete(stopping);
    streams.heldBytes -= heldBytes;
    leaving.abort();
  }
}

const OBSERVED: HeaderList = ["", ""];
