/** Represents one gRPC call of a peer and the ways to end it. Source: ext-proc reference, C.2. */
import { constants, type ServerHttp2Stream } from "node:http2";
import type { ServerDuplexStream } from "@grpc/grpc-js";
import type { ProcessingRequest__Output, ProcessingResponse } from "../ext-proc/index.ts";

export type Call = ServerDuplexStream<ProcessingRequest__Output, ProcessingResponse>;

interface GrpcCall {
  readonly isOver: () => boolean;
  /** Sends a message. `onWritten` is called when it was written to the connection. */
  readonly send: (message: ProcessingResponse, onWritten?: () => void) => void;
  /** Ends the call with status OK. Sent messages are still delivered. */
  readonly finish: () => void;
  /** Ends the call with an error. `code`: a gRPC status. */
  readonly fail: (code: number, details: string) => void;
  /** Resets the stream. Messages that the peer has not read are dropped, and it receives no status. */
  readonly reset: () => void;
}

/** Callbacks for the end of a call. Each is called once, in this order. */
interface CallHandlers {
  /** Called when nothing more can be sent, however the call ended. */
  readonly onOver: () => void;
  /** Called when all messages were delivered or dropped. */
  readonly onDelivered: () => void;
}

export function openGrpcCall(call: Call, handlers: CallHandlers): GrpcCall {
  let isOver = false;
  call.on("error", () => undefined);
  call.on("cancelled", () => {
    markOver();
    handlers.onDelivered();
  });
  call.on("drain", () => call.resume());
  return {
    isOver: () => isOver,
    send(message, onWritten) {
      if (!call.write(message, onWritten)) call.pause();
    },
    finish() {
      if (markOver()) call.end();
    },
    fail(code, details) {
      if (markOver()) call.emit("error", { code, details });
    },
    reset() {
      markOver();
      streamOf(call)?.close(constants.NGHTTP2_CANCEL);
    },
  };

  function markOver(): boolean {
    if (isOver) return false;
    isOver = true;
    handlers.onOver();
    return true;
  }
}

interface CallInternals {
  readonly call?: { readonly stream?: ServerHttp2Stream };
}

/** Returns the HTTP/2 stream below the call. gRPC's own interface can neither reset a stream nor name its connection. */
export const streamOf = (call: Call): ServerHttp2Stream | undefined => (call as unknown as CallInternals).call?.stream;
