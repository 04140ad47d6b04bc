/** Serves one stream of a peer: feeds its messages to an exchange and carries out the steps that the exchange returns. */
import { asRefusal, GatewayError } from "../../base/index.ts";
import type { Grpc, ProcessingRequest__Output } from "../ext-proc/index.ts";
import type { AnswerInspection } from "./answer/answer-inspection.ts";
import type { createConnectionRecycling } from "./connection-recycling.ts";
import {
  type Answer,
  bytesOf,
  type HeaderList,
  openExchange,
  type ResponseNews,
  type Step,
  type Verdict,
  type WholeRequest,
} from "./exchange/index.ts";
import { type Call, openGrpcCall, streamOf } from "./grpc-call.ts";
import { headerValue } from "./header-list.ts";
import { startIdleTimeout } from "./idle-timeout.ts";
import type { InspectorEvent, InspectorOptions, StreamInspection } from "./options.ts";
import { peerName } from "./peer-name.ts";
import { shapedRefusal } from "./refusal-shape.ts";
import type { StreamRegistry } from "./stream-registry.ts";
import { countUnacknowledgedBytes, type UnacknowledgedBytes } from "./unacknowledged-bytes.ts";
import { arrivalOf, messageOf, refusalMessage, UnreadableMessage } from "./wire.ts";

interface ServeStreamOptions {
  readonly options: Pick<
    InspectorOptions,
    "mode" | "responses" | "maxQuietMs" | "maxSilentMs" | "begin" | "observer" | "log"
  >;
  readonly streams: StreamRegistry;
  readonly recycleConnections: ReturnType<typeof createConnectionRecycling>;
  readonly codes: Grpc["status"];
}

export function serveStream(call: Call, { options, streams, recycleConnections, codes }: ServeStreamOptions): void {
  const { mode, responses, maxQuietMs, maxSilentMs, begin, observer, log } = options;
  const peer = peerName(call.getPeer());
  const session = streamOf(call)?.session;
  if (session !== undefined) recycleConnections(session);
  const count = (what: InspectorEvent, detail = ""): void => observer.count(what, peer, detail);
  const leaving = new AbortController();
  let answering: AnswerInspection | undefined;
  let unacknowledged: UnacknowledgedBytes | undefined;
  let onOver: StreamInspection["onOver"];
  const failStalled = (what: string, forMs: number): void => {
    count("stalled");
    grpcCall.fail(codes.DEADLINE_EXCEEDED, `${what} for ${forMs} ms`);
  };
  let idleTimeout = startIdleTimeout(maxQuietMs, () => failStalled("the request stopped before its end", maxQuietMs));
  const grpcCall = openGrpcCall(call, {
    onOver() {
      idleTimeout.end();
      answering?.close();
      onOver?.();
      leaving.abort(STREAM_ENDED);
      if (unacknowledged?.isWaiting() !== true) registered?.release();
      // The peer must have read the last messages by then, including the status.
      idleTimeout = startIdleTimeout(maxQuietMs, () => grpcCall.reset());
    },
    onDelivered() {
      idleTimeout.end();
      unacknowledged?.end();
      registered?.release();
    },
  });
  const registered = streams.register(peer, () => grpcCall.fail(codes.UNAVAILABLE, "the inspector is stopping"));
  if (registered === undefined) {
    count("too_many_streams");
    grpcCall.fail(
      codes.RESOURCE_EXHAUSTED,
      "the inspector has too many streams, or this proxy has more than its share",
    );
    return;
  }
  const { reserve } = registered;
  unacknowledged = countUnacknowledgedBytes(reserve, maxQuietMs, () => {
    if (!grpcCall.isOver()) count("stalled");
    grpcCall.reset();
  });
  const inspecting = begin(peer);
  const { maxBodyBytes, inspect, answers } = inspecting;
  onOver = inspecting.onOver;
  const exchange = openExchange({
    mode,
    maxBodyBytes,
    reserve,
    responses: responses &&
      answers && {
        mode: responses,
        requestHeaders: (request) =>
          answers.areRead && headerValue(request, "accept-encoding") !== "" ? IDENTITY_ENCODING : undefined,
        begin(request, response) {
          const begun = answers.begin(request, response);
          answering = begun?.read({ report: receiveNews, onCaughtUp: resumeReading }, reserve);
          return begun?.head.early;
        },
      },
  });
  let headers: HeaderList = [];
  let hasLeft = false;

  call.on("data", (message: ProcessingRequest__Output) => {
    if (grpcCall.isOver()) return;
    idleTimeout.markActive();
    failOnError(() => receiveMessage(message));
  });
  call.on("end", () => {
    hasLeft = true;
    if (headers !== OBSERVING) failOnError(() => carryOut(exchange.endOfInput()));
    finishIfDone();
  });

  function finishIfDone(): void {
    if (hasLeft && !exchange.isAnswerOwed()) grpcCall.finish();
  }

  function receiveNews(news: ResponseNews): void {
    failOnError(() => carryOut(exchange.applyNews(news)));
    finishIfDone();
  }

  /** Resumes reading. It was paused only for a duplex filter; a streaming filter expects an answer to each chunk at once. */
  function resumeReading(): void {
    if (!grpcCall.isOver()) call.resume();
  }

  function feed(bytes: Buffer, isEnd: boolean): void {
    answering?.push(bytes);
    if (isEnd) answering?.end();
    else if (responses === "duplex" && answering?.isBusy() === true) call.pause();
    carryOut(exchange.afterFeed());
  }

  function receiveMessage(message: ProcessingRequest__Output): void {
    // A filter in observability mode does not wait for answers.
    if (message.observability_mode === true) {
      if (headers.length === 0) count("observed", "its filter only observes: `observability_mode` is on");
      if (headers.length === 0) watchSilence();
      headers = OBSERVING;
      return;
    }
    const arrival = arrivalOf(message);
    if (arrival === undefined) return;
    if (arrival.kind === "headers" && arrival.side === "request" && headers.length === 0) headers = arrival.headers;
    carryOut(exchange.receive(arrival));
  }

  function carryOut(steps: readonly Step[]): void {
    for (const step of steps) {
      if (grpcCall.isOver()) return;
      switch (step.do) {
        case "answer":
          answer(step.answer);
          break;
        case "inspect":
          judge(step.request);
          break;
        case "feed":
          feed(step.bytes, step.isEnd);
          break;
        case "count":
          count(step.what);
          break;
        case "refuse":
          grpcCall.send(refusalMessage(shapedRefusal(step.error, headers, step.shape)));
          grpcCall.finish();
          break;
        case "fail":
          count(step.fault, step.detail);
          grpcCall.fail(
            step.fault === "mode_mismatch" ? codes.FAILED_PRECONDITION : codes.INVALID_ARGUMENT,
            step.detail,
          );
          break;
        default:
          step satisfies never;
      }
    }
  }

  function answer(decision: Answer): void {
    const bytes = bytesOf(decision);
    if (bytes === 0) grpcCall.send(messageOf(decision));
    else if (unacknowledged?.add(bytes) === true) grpcCall.send(messageOf(decision), () => onAcknowledged(bytes));
    else grpcCall.fail(codes.RESOURCE_EXHAUSTED, "the inspector buffers too many bytes");
  }

  function onAcknowledged(bytes: number): void {
    unacknowledged?.acknowledge(bytes);
    if (!grpcCall.isOver()) return;
    idleTimeout.markActive();
    if (unacknowledged?.isWaiting() !== true) registered?.release();
  }

  /** Starts the long timeout, because an answer may take long to compute and its next event may not have happened yet. */
  function watchSilence(): void {
    idleTimeout.end();
    idleTimeout = startIdleTimeout(maxSilentMs, () => {
      // Nothing more is inspected, so the filter may continue without this server.
      if (headers === OBSERVING || responses === undefined) grpcCall.finish();
      else failStalled("the response stopped before its end", maxSilentMs);
    });
  }

  function judge(request: WholeRequest): void {
    // The request is complete; from here on the detectors' own timeouts apply.
    idleTimeout.end();
    const since = performance.now();
    const settle = (verdict: Verdict): void => {
      observer.countInspection(verdict.kind, peer, (performance.now() - since) / 1_000);
      failOnError(() => carryOut(exchange.applyVerdict(verdict)));
      finishIfDone();
      if (grpcCall.isOver()) return;
      watchSilence();
      if (responses === undefined) onOver?.();
    };
    inspect(request, leaving.signal).then(settle, (cause: unknown) =>
      settle({ kind: "refuse", error: asRefusal(cause) }),
    );
  }

  function failOnError(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (error instanceof UnreadableMessage) {
        count("unreadable", error.message);
        grpcCall.fail(codes.INVALID_ARGUMENT, `the message cannot be read: ${error.message}`);
        return;
      }
      log.error("the inspector failed in a stream", { error });
      grpcCall.fail(codes.INTERNAL, "the inspector failed");
    }
  }
}

/**
 * Error with which every stream ends. It is created once, because an error with its stack costs as much as the rest of ending a
 * stream.
 */
const STREAM_ENDED = new GatewayError("invalid_request", "The stream has ended.");

/** Header that requests an uncompressed response. A response that is compressed anyway is decompressed first. */
const IDENTITY_ENCODING: ReadonlyMap<string, string> = new Map([["accept-encoding", "identity"]]);

/** Marks a stream that only observes. */
const OBSERVING: HeaderList = ["", ""];
