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
import type { Counted, Inspecting, InspectorOptions } from "./options.ts";
import { peerName } from "./peer-name.ts";
import { shapedRefusal } from "./refusal-shape.ts";
import type { Streams } from "./stream-registry.ts";
import { countUnacknowledgedBytes, type UnacknowledgedBytes } from "./unacknowledged-bytes.ts";
import { arrivalOf, messageOf, refusalMessage, UnreadableMessage } from "./wire.ts";

interface Serving {
  readonly options: Pick<
    InspectorOptions,
    "mode" | "responses" | "maxQuietMs" | "maxSilentMs" | "begin" | "observer" | "log"
  >;
  readonly streams: Streams;
  readonly turnover: ReturnType<typeof createConnectionRecycling>;
  readonly codes: Grpc["status"];
}

export function serveStream(call: Call, { options, streams, turnover, codes }: Serving): void {
  const { mode, responses, maxQuietMs, maxSilentMs, begin, observer, log } = options;
  const peer = peerName(call.getPeer());
  const session = streamOf(call)?.session;
  if (session !== undefined) turnover(session);
  const counted = (what: Counted, detail = ""): void => observer.counted(what, peer, detail);
  const leaving = new AbortController();
  let answering: AnswerInspection | undefined;
  let unacknowledged: UnacknowledgedBytes | undefined;
  let over: Inspecting["over"];
  const stalled = (what: string, forMs: number): void => {
    counted("stalled");
    grpcCall.fail(codes.DEADLINE_EXCEEDED, `${what} for ${forMs} ms`);
  };
  let idleTimeout = startIdleTimeout(maxQuietMs, () => stalled("the request stopped before its end", maxQuietMs));
  const grpcCall = openGrpcCall(call, {
    over() {
      idleTimeout.end();
      answering?.close();
      over?.();
      leaving.abort(LEFT);
      if (unacknowledged?.isWaiting() !== true) place?.leave();
      // The peer must have read the last messages by then, including the status.
      idleTimeout = startIdleTimeout(maxQuietMs, () => grpcCall.reset());
    },
    gone() {
      idleTimeout.end();
      unacknowledged?.end();
      place?.leave();
    },
  });
  const place = streams.enter(peer, () => grpcCall.fail(codes.UNAVAILABLE, "the inspector is stopping"));
  if (place === undefined) {
    counted("too_many_streams");
    grpcCall.fail(
      codes.RESOURCE_EXHAUSTED,
      "the inspector has too many streams, or this proxy has more than its share",
    );
    return;
  }
  const { hold } = place;
  unacknowledged = countUnacknowledgedBytes(hold, maxQuietMs, () => {
    if (!grpcCall.isOver()) counted("stalled");
    grpcCall.reset();
  });
  const inspecting = begin(peer);
  const { maxBodyBytes, inspect, answers } = inspecting;
  over = inspecting.over;
  const exchange = openExchange({
    mode,
    maxBodyBytes,
    hold,
    responses: responses &&
      answers && {
        mode: responses,
        asking: (request) => (answers.areRead && headerValue(request, "accept-encoding") !== "" ? PLAIN : undefined),
        begin(request, response) {
          const begun = answers.begin(request, response);
          answering = begun?.read({ report: receiveNews, idle }, hold);
          return begun?.head.early;
        },
      },
  });
  let headers: HeaderList = [];
  let hasLeft = false;

  call.on("data", (message: ProcessingRequest__Output) => {
    if (grpcCall.isOver()) return;
    idleTimeout.activity();
    guarded(() => receiveMessage(message));
  });
  call.on("end", () => {
    hasLeft = true;
    if (headers !== OBSERVED) guarded(() => take(exchange.left()));
    finishIfDone();
  });

  function finishIfDone(): void {
    if (hasLeft && !exchange.isOwing()) grpcCall.finish();
  }

  function receiveNews(news: ResponseNews): void {
    guarded(() => take(exchange.reported(news)));
    finishIfDone();
  }

  /** Resumes reading. It was paused only for a duplex filter; a streaming filter expects an answer to each chunk at once. */
  function idle(): void {
    if (!grpcCall.isOver()) call.resume();
  }

  function feed(bytes: Buffer, isEnd: boolean): void {
    answering?.push(bytes);
    if (isEnd) answering?.end();
    else if (responses === "duplex" && answering?.isBusy() === true) call.pause();
    take(exchange.fed());
  }

  function receiveMessage(message: ProcessingRequest__Output): void {
    // A filter in observability mode does not wait for answers.
    if (message.observability_mode === true) {
      if (headers.length === 0) counted("observed", "its filter only observes: `observability_mode` is on");
      if (headers.length === 0) watchSilence();
      headers = OBSERVED;
      return;
    }
    const arrival = arrivalOf(message);
    if (arrival === undefined) return;
    if (arrival.kind === "headers" && arrival.side === "request" && headers.length === 0) headers = arrival.headers;
    take(exchange.arrived(arrival));
  }

  function take(steps: readonly Step[]): void {
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
          counted(step.what);
          break;
        case "refuse":
          grpcCall.send(refusalMessage(shapedRefusal(step.error, headers, step.shape)));
          grpcCall.finish();
          break;
        case "fail":
          counted(step.fault, step.detail);
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

  function answer(given: Answer): void {
    const bytes = bytesOf(given);
    if (bytes === 0) grpcCall.send(messageOf(given));
    else if (unacknowledged?.add(bytes) === true) grpcCall.send(messageOf(given), () => wasRead(bytes));
    else grpcCall.fail(codes.RESOURCE_EXHAUSTED, "the inspector buffers too many bytes");
  }

  function wasRead(bytes: number): void {
    unacknowledged?.sent(bytes);
    if (!grpcCall.isOver()) return;
    idleTimeout.activity();
    if (unacknowledged?.isWaiting() !== true) place?.leave();
  }

  /** Starts the long timeout, because an answer may take long to compute and its next event may not have happened yet. */
  function watchSilence(): void {
    idleTimeout.end();
    idleTimeout = startIdleTimeout(maxSilentMs, () => {
      // Nothing more is inspected, so the filter may continue without this server.
      if (headers === OBSERVED || responses === undefined) grpcCall.finish();
      else stalled("the response stopped before its end", maxSilentMs);
    });
  }

  function judge(request: WholeRequest): void {
    // The request is complete; from here on the detectors' own timeouts apply.
    idleTimeout.end();
    const since = performance.now();
    const settle = (verdict: Verdict): void => {
      observer.inspected(verdict.kind, peer, (performance.now() - since) / 1_000);
      guarded(() => take(exchange.decided(verdict)));
      finishIfDone();
      if (grpcCall.isOver()) return;
      watchSilence();
      if (responses === undefined) over?.();
    };
    inspect(request, leaving.signal).then(settle, (cause: unknown) =>
      settle({ kind: "refuse", error: asRefusal(cause) }),
    );
  }

  function guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (error instanceof UnreadableMessage) {
        counted("unreadable", error.message);
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
const LEFT = new GatewayError("invalid_request", "The stream has ended.");

/** Header that requests an uncompressed response. A response that is compressed anyway is decompressed first. */
const PLAIN: ReadonlyMap<string, string> = new Map([["accept-encoding", "identity"]]);

/** Marks a stream that only observes. */
const OBSERVED: HeaderList = ["", ""];
