/**
 * TLS connection that carries frames, from just before hello on: reading, writing, liveness and closing.
 *
 * The first frame on each side is small and decides which handlers get the following frames. TCP notices a vanished peer only
 * when it has something to send, and then takes minutes. So the dialing side sends probes, and each side closes a link on which
 * it has heard nothing for a while.
 */

import type { TLSSocket } from "node:tls";
import type { Peer } from "../identity/index.ts";
import { createFrameDecoder, encodeFrame, FRAME_OVERHEAD_BYTES, type Frame, KIND, MAX_PAYLOAD_BYTES } from "./frame.ts";
import { HELLO_BYTES } from "./hello.ts";
import type { Timing } from "./timing.ts";
import { WireError } from "./wire-error.ts";

export interface LinkHandlers {
  /** Handles a frame. May throw `WireError`, which closes the link. */
  onFrame(frame: Frame): void;
  /** Called once when the link has ended. `error` is `undefined` after `close()` and `end()` of this side. */
  onEnd(error: Error | undefined): void;
  /** Payloads of probes and their answers; if omitted, they are empty. */
  readonly pulse?: Pulse;
}

/** Payload of the keep-alive probes of a link. */
export interface Pulse {
  question(): Uint8Array;
  /** Returns the answer to a probe of the peer; a peer of an earlier version sends an empty one. */
  answer(question: Uint8Array): Uint8Array;
  /** Called with an answer, which is empty if the peer runs an earlier version. */
  onAnswer(answer: Uint8Array): void;
}

export interface Wire {
  /** Sends all frames in one write. Has no effect after the end of the link. */
  send(...frames: readonly Uint8Array[]): void;
  /** Returns the bytes handed to `send` that the kernel has not taken. */
  queuedBytes(): number;
  isOpen(): boolean;
  /** Closes the link at once; `onEnd` gets `reason`. */
  close(reason?: Error): void;
  /** Closes the link after pending data was sent, at the latest within a second. */
  end(): void;
  /** Probes the peer now. Returns false if it did not answer within `ms`, or the link has ended. */
  probe(ms: number): Promise<boolean>;
}

export interface Link extends Wire {
  readonly peer: Peer;
}

interface WireOptions {
  readonly socket: TLSSocket;
  readonly isDialer: boolean;
  readonly timing: Timing;
  /**
   * Handles the first frame and returns the handlers for the others; `undefined` if it closed the wire. May throw `WireError`.
   */
  onFirstFrame(frame: Frame, wire: Wire): LinkHandlers | undefined;
  /** Called when the wire ends before its first frame was accepted. */
  onEarlyEnd(error: Error | undefined): void;
}

const KEEPALIVE_MS = 15_000;
/**
 * Interval of probes. After three without an answer the link is closed. The timer counts them, so that a process that slept can
 * read first.
 */
const PROBE_INTERVAL_MS = 2_500;
const MAX_SILENT_INTERVALS = 3;
/** Limit of the accepting side, which is longer: the dialing side has to know earlier. */
const MAX_SILENT_INTERVALS_ACCEPTED = 6;
const LINGER_MS = 1_000;
/** Maximum queued bytes; a peer that sends requests without reading the answers is disconnected. */
const MAX_QUEUED_BYTES = 64 * 1024 * 1024;

export function openWire({ socket, isDialer, timing, onFirstFrame, onEarlyEnd }: WireOptions): Wire {
  const decoder = createFrameDecoder(HELLO_BYTES);
  let handlers: LinkHandlers | undefined;
  let isEnded = false;
  let isEnding = false;
  let failure: Error | undefined;
  let silentIntervals = 0;
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
        sendProbe();
      });
    },
  };

  function sendProbe(): void {
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
    stopTimer = timing.after(PROBE_INTERVAL_MS, () => {
      silentIntervals += 1;
      if (silentIntervals > (isDialer ? MAX_SILENT_INTERVALS : MAX_SILENT_INTERVALS_ACCEPTED)) {
        wire.close(new Error("the peer is silent"));
        return;
      }
      if (isDialer) sendProbe();
      watch();
    });
  }

  function receive(frame: Frame): void {
    if (handlers === undefined) {
      handlers = onFirstFrame(frame, wire);
      if (handlers === undefined || isEnded || isEnding) return;
      decoder.setLimit(FRAME_OVERHEAD_BYTES + MAX_PAYLOAD_BYTES);
      if (isDialer && handlers.pulse !== undefined) sendProbe();
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
    silentIntervals = 0;
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
