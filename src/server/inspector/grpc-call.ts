/** Represents one gRPC call of a peer and the ways to end it. Source: ext-proc reference, C.2. */
import { constants, type ServerHttp2Stream } from "node:http2";
import type { ServerDuplexStream } from "@grpc/grpc-js";
import type { ProcessingRequest__Output, ProcessingResponse } from "../ext-proc/index.ts";

export type Call = ServerDuplexStream<ProcessingRequest__Output, ProcessingResponse>;

interface GrpcCall {
  readonly isOver: () => boolean;
  /** Sends a message. `onLeft` is called when it was written to the connection. */
  readonly send: (message: ProcessingResponse, onLeft?: () => void) => void;
  /** Ends the call with status OK. Sent messages are still delivered. */
  readonly finish: () => void;
  /** Ends the call with an error. `code`: a gRPC status. */
  readonly fail: (code: number, details: string) => void;
  /** Resets the stream. Messages that the peer has not read are dropped, and it receives no status. */
  readonly reset: () => void;
}

/** Callbacks for the end of a call. Each is called once, in this order. */
interface CallEnds {
  /** Called when nothing more can be sent, however the call ended. */
  readonly over: () => void;
  /** Called when all messages were delivered or dropped. */
  readonly gone: () => void;
}

export function openGrpcCall(call: Call, ends: CallEnds): GrpcCall {
  let isOver = false;
  call.on("error", () => undefined);
  call.on("cancelled", () => {
    over();
    ends.gone();
  });
  call.on("drain", () => call.resume());
  return {
    isOver: () => isOver,
    send(message, onLeft) {
      if (!call.write(message, onLeft)) call.pause();
    },
    finish() {
      if (over()) call.end();
    },
    fail(code, details) {
      if (over()) call.emit("error", { code, details });
    },
    reset() {
      over();
      streamOf(call)?.close(constants.NGHTTP2_CANCEL);
    },
  };

  function over(): boolean {
    if (isOver) return false;
    isOver = true;
    ends.over();
    return true;
  }
}

interface MadeOf {
  readonly call?: { readonly stream?: ServerHttp2Stream };
}

/** Returns the HTTP/2 stream below the call. gRPC's own interface can neither reset a stream nor name its connection. */
export const streamOf = (call: Call): ServerHttp2Stream | undefined => (call as unknown as MadeOf).call?.stream;
