/** One call of a peer, as gRPC ends it. Source: ext-proc reference, C.2. */
import { constants, type ServerHttp2Stream } from "node:http2";
import type { ServerDuplexStream } from "@grpc/grpc-js";
import type { ProcessingRequest__Output, ProcessingResponse } from "../ext-proc/index.ts";

export type Call = ServerDuplexStream<ProcessingRequest__Output, ProcessingResponse>;

export interface Talk {
  readonly isOver: () => boolean;
  /** `onLeft`: it was written, as far as the peer reads. */
  readonly say: (message: ProcessingResponse, onLeft?: () => void) => void;
  /** Status OK: what was said stands. */
  readonly finish: () => void;
  /** `code`: a gRPC status. */
  readonly fail: (code: number, details: string) => void;
  /** What was said and not read is dropped: nobody reads the status either. */
  readonly cut: () => void;
}

/** Each once, in this order. */
export interface TalkEnds {
  /** Nothing more is said, however it ended. */
  readonly over: () => void;
  /** What was said has left, or was dropped. */
  readonly gone: () => void;
}

export function talkOver(call: Call, ends: TalkEnds): Talk {
  let isOver = false;
  call.on("error", () => undefined);
  call.on("cancelled", () => {
    over();
    ends.gone();
  });
  call.on("drain", () => call.resume());
  return {
    isOver: () => isOver,
    say(message, onLeft) {
      if (!call.write(message, onLeft)) call.pause();
    },
    finish() {
      if (over()) call.end();
    },
    fail(code, details) {
      if (over()) call.emit("error", { code, details });
    },
    cut() {
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

/** What the call is made of: gRPC has no word for cutting a stream off, nor for the connection that it came on; HTTP/2 has. */
export const streamOf = (call: Call): ServerHttp2Stream | undefined => (call as unknown as MadeOf).call?.stream;
