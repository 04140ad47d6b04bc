/**
 * Implements the state machine of one HTTP request of a peer: takes events and returns the steps to take. It is pure: it does not
 * wait, and knows neither a clock nor the wire format. Source: ext-proc reference, A.1 to A.8; design decisions, section 19.
 *
 * A body is held until its end is known, inspected whole, and then sent as decided. The gRPC stream never ends with status OK
 * before that, because a filter continues without the inspector after such an end, whatever its settings.
 */
import { GatewayError } from "../../../base/index.ts";
import type { ProxiedShape } from "../../core/agents/index.ts";
import { piecesOf } from "./body-pieces.ts";
import { HeldBody } from "./held-body.ts";
import { canOverrideMode, mismatchOf, withholdsResponses } from "./modes.ts";
import { inspectResponse, type ResponseSide } from "./response-inspecting.ts";
import { passResponse } from "./response-passing.ts";
import type {
  Answer,
  Arrival,
  ExchangeOptions,
  HeaderList,
  PeerExchange,
  PeerModes,
  Step,
  StreamFault,
  Verdict,
} from "./types.ts";

/**
 * Phase of the exchange. `first`: nothing has arrived. `open`: the body is arriving. `judging`: the request is complete and is
 * being inspected. `passed`: it was sent on. `over`: nothing more is answered.
 */
type Phase = "first" | "open" | "judging" | "passed" | "over";

/** Part of the request that marked its end. */
type End = "headers" | "body" | "trailers";

const NO_STEPS: readonly Step[] = [];
const EMPTY = Buffer.alloc(0);

export function openExchange({ mode, maxBodyBytes, reserve, responses }: ExchangeOptions): PeerExchange {
  let phase: Phase = "first";
  let end: End | undefined;
  let headers: HeaderList = [];
  let response: ResponseSide | undefined;
  let modes: PeerModes | undefined;
  const ownModes = { request: mode, response: responses?.mode };
  const asksResponse = responses !== undefined && canOverrideMode(ownModes);
  const held = new HeldBody();
  /** Bytes of memory that are reserved for this exchange. */
  let reservedBytes = 0;
  /** Body of the whole request, while it is inspected. */
  let wholeBody: Buffer = EMPTY;

  return {
    receive(arrival) {
      if (phase === "over") return NO_STEPS;
      return arrival.side === "request" ? receiveRequestPart(arrival) : receiveResponsePart(arrival);
    },
    applyVerdict(verdict) {
      return phase === "judging" ? carryOutVerdict(verdict) : NO_STEPS;
    },
    applyNews: (news) =>
      phase === "over" || response === undefined ? NO_STEPS : closeIfRefused(response.applyNews(news)),
    afterFeed: () => (phase === "over" || response === undefined ? NO_STEPS : response.afterFeed()),
    isAnswerOwed: () => phase === "judging" || (phase !== "over" && response?.isAnswerOwed() === true),
    endOfInput() {
      if (phase === "over") return NO_STEPS;
      const wasSent = held.chunks > 0 || mode === "duplex";
      if (response?.isOpen() === true) return fail("abandoned", "the stream ended before the response's body did");
      if (phase === "passed" && response === undefined && asksResponse && (modes?.response ?? "none") === "none") {
        return [{ do: "count", what: "response_not_sent" }];
      }
      if (phase === "passed" || phase === "judging") return NO_STEPS;
      if (phase === "first") return endQuietly();
      const failure = fail("abandoned", "the stream ended before the request's body did");
      // Either the client left, or the filter never sends the requested body.
      return wasSent ? failure : [{ do: "count", what: "body_not_sent" }, ...failure];
    },
    isClosed: () => phase === "over",
  };

  function receiveRequestPart(arrival: Arrival): readonly Step[] {
    switch (arrival.kind) {
      case "headers":
        return phase === "first" ? receiveHeaders(arrival) : fail("out_of_order", "request headers came twice");
      case "body":
        return receiveBody(arrival.bytes, arrival.isEnd);
      case "trailers":
        return receiveTrailers();
      default:
        return arrival satisfies never;
    }
  }

  function receiveHeaders({
    headers: named,
    isEnd,
    modes: peerModes,
  }: Extract<Arrival, { kind: "headers" }>): readonly Step[] {
    const mismatch = peerModes && mismatchOf(ownModes, peerModes);
    if (mismatch !== undefined) return fail("mode_mismatch", mismatch);
    modes = peerModes;
    headers = named;
    const countSteps = peerModes && withholdsResponses(ownModes, peerModes) ? RESPONSE_NOT_SENT : NO_STEPS;
    if (isEnd) return [...countSteps, ...startInspection("headers")];
    phase = "open";
    return mode === "streamed"
      ? [
          ...countSteps,
          ...answerStep({
            kind: "headers",
            side: "request",
            dropsLength: true,
            asksBody: ownModes.response !== "duplex",
            asksResponse,
            sets: responses?.requestHeaders(headers),
          }),
        ]
      : countSteps;
  }

  function receiveBody(bytes: Buffer, isEnd: boolean): readonly Step[] {
    if (phase === "first") return fail("out_of_order", "a body came before its headers");
    // Some filters send the end of a body twice (ext-proc reference, A.3, 9).
    if (phase !== "open") return end === "headers" ? fail("out_of_order", "a body came after the end") : NO_STEPS;
    if (held.bytes + bytes.length > maxBodyBytes) {
      return refuse(new GatewayError("body_too_large", `The request body is larger than ${maxBodyBytes} bytes.`));
    }
    const moreBytes = held.bytesToReserve(bytes);
    if (!reserve(moreBytes)) {
      return refuse(new GatewayError("overloaded", "The inspector buffers too many bytes of other requests."));
    }
    reservedBytes += moreBytes;
    held.add(bytes);
    if (isEnd) return startInspection("body");
    return mode === "streamed" ? answerStep({ kind: "chunk", side: "request", replacement: "nothing" }) : NO_STEPS;
  }

  function receiveTrailers(): readonly Step[] {
    if (phase !== "open") return fail("out_of_order", "request trailers came where there are none");
    if (mode === "duplex") return startInspection("trailers");
    return refuse(
      new GatewayError(
        "trailers_not_inspected",
        "The request's body ends in trailers, which guardrails can only inspect if the proxy streams in full duplex mode.",
      ),
    );
  }

  function startInspection(by: End): readonly Step[] {
    end = by;
    phase = "judging";
    wholeBody = held.take();
    return [{ do: "inspect", request: { headers, body: wholeBody, memory: { maxBodyBytes, reserve } } }];
  }

  function carryOutVerdict(verdict: Verdict): readonly Step[] {
    if (verdict.kind === "refuse") return refuse(verdict.error, verdict.shape);
    const sets = verdict.kind === "rewrite" && verdict.headers?.size !== 0 ? verdict.headers : undefined;
    if (sets !== undefined && mode === "streamed") return refuse(HEADERS_ALREADY_SENT);
    phase = "passed";
    const body = verdict.kind === "rewrite" ? verdict.body : wholeBody;
    const isChanged = verdict.kind === "rewrite";
    wholeBody = EMPTY;
    reserve(-reservedBytes);
    reservedBytes = 0;
    if (end === "headers") {
      // Without a body, only the response needs an override and the length stays correct.
      return answerStep({
        kind: "headers",
        side: "request",
        dropsLength: false,
        asksBody: false,
        asksResponse,
        sets: responses?.requestHeaders(headers),
      });
    }
    if (mode === "streamed") {
      const isUntouched = !isChanged && held.chunks === 1;
      return answerStep({ kind: "chunk", side: "request", replacement: isUntouched ? "itself" : body });
    }
    const asking = responses?.requestHeaders(headers);
    const all = asking === undefined ? sets : new Map([...asking, ...(sets ?? [])]);
    const steps = [
      ...answerStep({ kind: "headers", side: "request", dropsLength: isChanged, asksBody: false, sets: all }),
    ];
    const hasTrailers = end === "trailers";
    for (const piece of piecesOf("request", body, !hasTrailers)) steps.push({ do: "answer", answer: piece });
    if (hasTrailers) steps.push({ do: "answer", answer: { kind: "trailers", side: "request" } });
    return steps;
  }

  function receiveResponsePart(arrival: Arrival): readonly Step[] {
    if (phase === "first") return fail("out_of_order", "a response came before its request");
    const isFirst = response === undefined;
    response ??= createResponseSide();
    const steps = response.receive(arrival);
    if (steps === undefined) return fail("out_of_order", `response ${arrival.kind} came where there are none`);
    // Either the upstream answered early, or the filter never sent the requested body.
    const isUnsent = isFirst && phase === "open" && held.chunks === 0;
    return closeIfRefused(isUnsent ? [{ do: "count", what: "body_not_sent" }, ...steps] : steps);
  }

  function createResponseSide(): ResponseSide {
    const peer = modes?.response;
    if (responses === undefined) return createPassingSide(peer);
    // A filter reports its configured mode even if that was overridden.
    return inspectResponse({
      mode: responses.mode,
      peer: peer === "none" ? responses.mode : peer,
      begin: (named) => responses.begin(headers, named),
    });
  }

  /** Returns the steps. Closes the exchange if one of them is a refusal, because nothing may follow it. */
  function closeIfRefused(steps: readonly Step[]): readonly Step[] {
    if (steps.some((step) => step.do === "refuse")) close();
    return steps;
  }

  function refuse(error: GatewayError, shape?: ProxiedShape): readonly Step[] {
    close();
    return [{ do: "refuse", error, shape }];
  }

  function fail(fault: StreamFault, detail: string): readonly Step[] {
    close();
    return [{ do: "fail", fault, detail }];
  }

  function endQuietly(): readonly Step[] {
    close();
    return NO_STEPS;
  }

  function close(): void {
    phase = "over";
    held.take();
    wholeBody = EMPTY;
  }
}

/** Refusal for a header change in streamed mode, in which the filter sends the headers on before the body is known. */
const HEADERS_ALREADY_SENT = new GatewayError(
  "guardrail_denied",
  "A guardrail rewrote an argument that a header repeats, which is only possible if the proxy streams in full duplex mode.",
  { by: { kind: "guardrail", name: "extproc.request_body_mode" } },
);

const answerStep = (answer: Answer): readonly Step[] => [{ do: "answer", answer }];

const RESPONSE_NOT_SENT: readonly Step[] = [{ do: "count", what: "response_not_sent" }];

function createPassingSide(peer: PeerModes["response"] | undefined): ResponseSide {
  const pass = passResponse(peer);
  return {
    receive: (arrival) => pass(arrival)?.map((answer) => ({ do: "answer", answer })),
    applyNews: () => NO_STEPS,
    afterFeed: () => NO_STEPS,
    isAnswerOwed: () => false,
    isOpen: () => false,
  };
}
