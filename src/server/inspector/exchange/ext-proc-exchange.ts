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
import { asksByOverride, keepsResponses, mismatchOf } from "./modes.ts";
import { inspectResponse, type ResponseSide } from "./response-inspecting.ts";
import { passResponse } from "./response-passing.ts";
import type {
  Answer,
  Arrival,
  ExchangeTerms,
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

export function openExchange({ mode, maxBodyBytes, hold, responses }: ExchangeTerms): PeerExchange {
  let phase: Phase = "first";
  let end: End | undefined;
  let headers: HeaderList = [];
  let response: ResponseSide | undefined;
  let modes: PeerModes | undefined;
  const own = { request: mode, response: responses?.mode };
  const asksResponse = responses !== undefined && asksByOverride(own);
  const held = new HeldBody();
  /** Bytes of memory that are reserved for this exchange. */
  let room = 0;
  /** Body of the whole request, while it is inspected. */
  let whole: Buffer = EMPTY;

  return {
    arrived(arrival) {
      if (phase === "over") return NO_STEPS;
      return arrival.side === "request" ? requested(arrival) : responded(arrival);
    },
    decided(verdict) {
      return phase === "judging" ? settled(verdict) : NO_STEPS;
    },
    reported: (news) => (phase === "over" || response === undefined ? NO_STEPS : lastWord(response.reported(news))),
    fed: () => (phase === "over" || response === undefined ? NO_STEPS : response.fed()),
    isOwing: () => phase === "judging" || (phase !== "over" && response?.isOwing() === true),
    left() {
      if (phase === "over") return NO_STEPS;
      const wasSent = held.chunks > 0 || mode === "duplex";
      if (response?.isOpen() === true) return failed("abandoned", "the stream ended before the response's body did");
      if (phase === "passed" && response === undefined && asksResponse && (modes?.response ?? "none") === "none") {
        return [{ do: "count", what: "response_not_sent" }];
      }
      if (phase === "passed" || phase === "judging") return NO_STEPS;
      if (phase === "first") return over();
      const failure = failed("abandoned", "the stream ended before the request's body did");
      // Either the client left, or the filter never sends the requested body.
      return wasSent ? failure : [{ do: "count", what: "body_not_sent" }, ...failure];
    },
    isOver: () => phase === "over",
  };

  function requested(arrival: Arrival): readonly Step[] {
    switch (arrival.kind) {
      case "headers":
        return phase === "first" ? begun(arrival) : failed("out_of_order", "request headers came twice");
      case "body":
        return bodied(arrival.bytes, arrival.isEnd);
      case "trailers":
        return trailed();
      default:
        return arrival satisfies never;
    }
  }

  function begun({ headers: named, isEnd, modes: peerModes }: Extract<Arrival, { kind: "headers" }>): readonly Step[] {
    const mismatch = peerModes && mismatchOf(own, peerModes);
    if (mismatch !== undefined) return failed("mode_mismatch", mismatch);
    modes = peerModes;
    headers = named;
    const counted = peerModes && keepsResponses(own, peerModes) ? RESPONSE_NOT_SENT : NO_STEPS;
    if (isEnd) return [...counted, ...ended("headers")];
    phase = "open";
    return mode === "streamed"
      ? [
          ...counted,
          ...answered({
            kind: "headers",
            side: "request",
            dropsLength: true,
            asksBody: own.response !== "duplex",
            asksResponse,
            sets: responses?.asking(headers),
          }),
        ]
      : counted;
  }

  function bodied(bytes: Buffer, isEnd: boolean): readonly Step[] {
    if (phase === "first") return failed("out_of_order", "a body came before its headers");
    // Some filters send the end of a body twice (ext-proc reference, A.3, 9).
    if (phase !== "open") return end === "headers" ? failed("out_of_order", "a body came after the end") : NO_STEPS;
    if (held.bytes + bytes.length > maxBodyBytes) {
      return refused(new GatewayError("body_too_large", `The request body is larger than ${maxBodyBytes} bytes.`));
    }
    const more = held.room(bytes);
    if (!hold(more)) {
      return refused(new GatewayError("overloaded", "The inspector buffers too many bytes of other requests."));
    }
    room += more;
    held.add(bytes);
    if (isEnd) return ended("body");
    return mode === "streamed" ? answered({ kind: "chunk", side: "request", becomes: "nothing" }) : NO_STEPS;
  }

  function trailed(): readonly Step[] {
    if (phase !== "open") return failed("out_of_order", "request trailers came where there are none");
    if (mode === "duplex") return ended("trailers");
    return refused(
      new GatewayError(
        "trailers_not_inspected",
        "The request's body ends in trailers, which guardrails can only inspect if the proxy streams in full duplex mode.",
      ),
    );
  }

  function ended(by: End): readonly Step[] {
    end = by;
    phase = "judging";
    whole = held.take();
    return [{ do: "inspect", request: { headers, body: whole, room: { maxBodyBytes, hold } } }];
  }

  function settled(verdict: Verdict): readonly Step[] {
    if (verdict.kind === "refuse") return refused(verdict.error, verdict.shape);
    const sets = verdict.kind === "rewrite" && verdict.headers?.size !== 0 ? verdict.headers : undefined;
    if (sets !== undefined && mode === "streamed") return refused(HEADERS_HAVE_LEFT);
    phase = "passed";
    const body = verdict.kind === "rewrite" ? verdict.body : whole;
    const isChanged = verdict.kind === "rewrite";
    whole = EMPTY;
    hold(-room);
    room = 0;
    if (end === "headers") {
      // Without a body, only the response needs an override and the length stays correct.
      return answered({
        kind: "headers",
        side: "request",
        dropsLength: false,
        asksBody: false,
        asksResponse,
        sets: responses?.asking(headers),
      });
    }
    if (mode === "streamed") {
      const isUntouched = !isChanged && held.chunks === 1;
      return answered({ kind: "chunk", side: "request", becomes: isUntouched ? "itself" : body });
    }
    const asking = responses?.asking(headers);
    const all = asking === undefined ? sets : new Map([...asking, ...(sets ?? [])]);
    const steps = [
      ...answered({ kind: "headers", side: "request", dropsLength: isChanged, asksBody: false, sets: all }),
    ];
    const hasTrailers = end === "trailers";
    for (const piece of piecesOf("request", body, !hasTrailers)) steps.push({ do: "answer", answer: piece });
    if (hasTrailers) steps.push({ do: "answer", answer: { kind: "trailers", side: "request" } });
    return steps;
  }

  function responded(arrival: Arrival): readonly Step[] {
    if (phase === "first") return failed("out_of_order", "a response came before its request");
    const isFirst = response === undefined;
    response ??= responseSide();
    const steps = response.arrived(arrival);
    if (steps === undefined) return failed("out_of_order", `response ${arrival.kind} came where there are none`);
    // Either the upstream answered early, or the filter never sent the requested body.
    const isUnsent = isFirst && phase === "open" && held.chunks === 0;
    return lastWord(isUnsent ? [{ do: "count", what: "body_not_sent" }, ...steps] : steps);
  }

  function responseSide(): ResponseSide {
    const peer = modes?.response;
    if (responses === undefined) return passingAll(peer);
    // A filter reports its configured mode even if that was overridden.
    return inspectResponse({
      mode: responses.mode,
      peer: peer === "none" ? responses.mode : peer,
      begin: (named) => responses.begin(headers, named),
    });
  }

  /** Returns the steps. Closes the exchange if one of them is a refusal, because nothing may follow it. */
  function lastWord(steps: readonly Step[]): readonly Step[] {
    if (steps.some((step) => step.do === "refuse")) close();
    return steps;
  }

  function refused(error: GatewayError, shape?: ProxiedShape): readonly Step[] {
    close();
    return [{ do: "refuse", error, shape }];
  }

  function failed(fault: StreamFault, detail: string): readonly Step[] {
    close();
    return [{ do: "fail", fault, detail }];
  }

  function over(): readonly Step[] {
    close();
    return NO_STEPS;
  }

  function close(): void {
    phase = "over";
    held.take();
    whole = EMPTY;
  }
}

/** Refusal for a header change in streamed mode, in which the filter sends the headers on before the body is known. */
const HEADERS_HAVE_LEFT = new GatewayError(
  "guardrail_denied",
  "A guardrail rewrote an argument that a header repeats, which is only possible if the proxy streams in full duplex mode.",
  { by: { kind: "guardrail", name: "extproc.request_body_mode" } },
);

const answered = (answer: Answer): readonly Step[] => [{ do: "answer", answer }];

const RESPONSE_NOT_SENT: readonly Step[] = [{ do: "count", what: "response_not_sent" }];

function passingAll(peer: PeerModes["response"] | undefined): ResponseSide {
  const passed = passResponse(peer);
  return {
    arrived: (arrival) => passed(arrival)?.map((answer) => ({ do: "answer", answer })),
    reported: () => NO_STEPS,
    fed: () => NO_STEPS,
    isOwing: () => false,
    isOpen: () => false,
  };
}
