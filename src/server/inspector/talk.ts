/** One call of a peer, as gRPC ends it. Source: ext-proc reference, C.2. */
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
}

/** `onOver`: once, however it ended. */
export function talkOver(call: Call, onOver: () => void): Talk {
  let isOver = false;
  call.on("error", () => undefined);
  call.on("cancelled", over);
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
  };

  function over(): boolean {
    if (isOver) return false;
    isOver = true;
    onOver();
    return true;
  }
}
