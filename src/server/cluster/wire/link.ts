/**
 * One TLS connection that carries frames, after or just before hello: reading, writing, liveness and its end.
 *
 * The first frame is special on both sides and small; what follows is given to the handlers that the first one led to.
 * TCP notices a peer that vanished only when it has something to send, and then takes minutes; so the dialling side
 * asks now and then, and each side closes a link on which it has heard nothing for a while.
 */

import type { TLSSocket } from "node:tls";
import type { Peer } from "../identity/index.ts";
import { createFrameDecoder, encodeFrame, FRAME_OVERHEAD, type Frame, KIND, MAX_PAYLOAD } from "./frame.ts";
import { HELLO_BYTES } from "./hello.ts";
import type { Timing } from "./timing.ts";
import { WireError } from "./wire-error.ts";

export interface LinkHandlers {
  /** May throw `WireError`, which closes the link. */
  onFrame(frame: Frame): void;
  /** Once, when nothing more comes or goes; `error` undefined after `close()` and `end()` of this side. */
  onEnd(error: Error | undefined): void;
  /** Left out: questions and answers are empty. */
  readonly pulse?: Pulse;
}

/** Payload of the keep-alive probes of a link. */
export interface Pulse {
  question(): Uint8Array;
  /** Returns the answer to a probe of the peer; a peer of an earlier version sends an empty one. */
  answer(question: Uint8Array): Uint8Array;
  /** Empty where the peer runs an earlier version. */
  onAnswer(answer: Uint8Array): void;
}

export interface Wire {
  /** One write for all frames. After the end of the link it does nothing. */
  send(...frames: readonly Uint8Array[]): void;
  /** Bytes handed to `send` that the kernel has not taken. */
  queuedBytes(): number;
  isOpen(): boolean;
  /** At once; `reason` is given to `onEnd`. */
  close(reason?: Error): void;
  /** After what has been sent, within a second. */
  end(): void;
  /** Asks the peer now: false when it has not answered within `ms`, or the link has ended. */
  probe(ms: number): Promise<boolean>;
}

export interface Link extends Wire {
  readonly peer: Peer;
}

export interface WireOptions {
  readonly socket: TLSSocket;
  readonly isDialler: boolean;
  readonly timing: Timing;
  /** Judges the first frame and says who gets the rest; undefined when it has ended the wire. May throw `WireError`. */
  onFirst(frame: Frame, wire: Wire): LinkHandlers | undefined;
  /** The end before the first frame was accepted. */
  onEarlyEnd(error: Error | undefined): void;
}

const KEEPALIVE_MS = 15_000;
/** Three of these without an answer, counted by the timer, so that a process that slept has a turn to read first. */
const PING_MS = 2_500;
const MAX_SILENT_TURNS = 3;
/** The accepting side waits longer: it is the dialling one that must know early. */
const MAX_SILENT_TURNS_ACCEPTED = 6;
const LINGER_MS = 1_000;
/** A peer that asks and does not read the answers. */
const MAX_QUEUED_BYTES = 64 * 1024 * 1024;

export function openWire({ socket, isDialler, timing, onFirst, onEarlyEnd }: WireOptions): Wire {
  const decoder = createFrameDecoder(HELLO_BYTES);
  let handlers: LinkHandlers | undefined;
  let isEnded = false;
  let isEnding = false;
  let failure: Error | undefined;
  let silentTurns = 0;
  let stopTimer = () => {};
  const probes = new Set<(isThere: boolean) => void>();

  const wire: Wire = {
    send(...frames) {
      if (isEnded || isEnding) return;
      socket.cork();
      for (const frame of frames) socket.write(frame);
      socket.uncork();
      if (socket.writableLength > MAX_QUEUED_BYTES) wire.close(new WireError("the peer does not read"));
    },
    queuedBytes: () => socket.writableLength,
    isOpen: () => !isEnded && !isEnding,
    close(reason) {
      failure ??= reason;
      socket.destroy();
      finish();
    },
    end() {
      if (isEnded || isEnding) return;
      isEnding = true;
      socket.end();
      stopTimer();
      stopTimer = timing.after(LINGER_MS, () => wire.close());
    },
    probe(ms) {
      if (isEnded || isEnding) return Promise.resolve(false);
      return new Promise((resolve) => {
        const done = (isThere: boolean): void => {
          stopLimit();
          probes.delete(done);
          resolve(isThere);
        };
        const stopLimit = timing.after(ms, () => done(false));
        probes.add(done);
        ask();
      });
    },
  };

  function ask(): void {
    const question = handlers?.pulse?.question();
    wire.send(question === undefined ? PING : encodeFrame({ kind: KIND.ping }, question));
  }

  function settleProbes(isThere: boolean): void {
    for (const done of [...probes]) done(isThere);
  }

  function finish(): void {
    if (isEnded) return;
    isEnded = true;
    stopTimer();
    settleProbes(false);
    if (handlers === undefined) onEarlyEnd(failure);
    else handlers.onEnd(failure);
  }

  function watch(): void {
    stopTimer = timing.after(PING_MS, () => {
      silentTurns += 1;
      if (silentTurns > (isDialler ? MAX_SILENT_TURNS : MAX_SILENT_TURNS_ACCEPTED)) {
        wire.close(new Error("the peer is silent"));
        return;
      }
      if (isDialler) ask();
      watch();
    });
  }

  function receive(frame: Frame): void {
    if (handlers === undefined) {
      handlers = onFirst(frame, wire);
      if (handlers === undefined || isEnded || isEnding) return;
      decoder.setLimit(FRAME_OVERHEAD + MAX_PAYLOAD);
      if (isDialler && handlers.pulse !== undefined) ask();
      watch();
    } else if (frame.kind === KIND.ping) {
      const { pulse } = handlers;
      wire.send(pulse === undefined ? PONG : encodeFrame({ kind: KIND.pong }, pulse.answer(frame.payload)));
    } else if (frame.kind === KIND.pong) {
      settleProbes(true);
      handlers.pulse?.onAnswer(frame.payload);
    } else {
      handlers.onFrame(frame);
    }
  }

  socket.setNoDelay(true);
  socket.setKeepAlive(true, KEEPALIVE_MS);
  socket.on("data", (chunk: Buffer) => {
    silentTurns = 0;
    try {
      for (const frame of decoder.push(chunk)) {
        if (isEnded || isEnding) return;
        receive(frame);
      }
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      wire.close(error);
    }
  });
  socket.on("end", () => {
    if (!isEnding) failure ??= new Error("the peer closed the connection");
  });
  socket.on("error", (error) => {
    failure ??= error;
  });
  socket.on("close", finish);
  return wire;
}

const PING = encodeFrame({ kind: KIND.ping });
const PONG = encodeFrame({ kind: KIND.pong });
