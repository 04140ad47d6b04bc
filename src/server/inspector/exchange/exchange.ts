/**
 * One HTTP request of a peer, from its first message to its last: what arrives becomes what is answered. Nothing here waits,
 * knows a clock or the wire. Source: ext-proc reference, A.1 to A.8; design decisions, section 19.
 *
 * A body is held until its end is known, is inspected whole, and leaves as it was decided. A stream never ends well before
 * that: a filter takes such an end for leave to go on without us, whatever its settings.
 */
import { GatewayError } from "../../../base/index.ts";
import type { ProxiedShape } from "../../core/agents/index.ts";
import { HeldBody } from "./held-body.ts";
import { piecesOf } from "./pieces.ts";
import { passResponse } from "./response-passing.ts";
import type {
  Answer,
  Arrival,
  ExchangeTerms,
  HeaderList,
  PeerExchange,
  PeerMode,
  PeerModes,
  Step,
  StreamFault,
  Verdict,
} from "./types.ts";

/**
 * `first`: nothing came yet. `open`: the body is arriving. `judging`: all of it came. `passed`: it went on. `over`: nothing
 * more is answered.
 */
type Phase = "first" | "open" | "judging" | "passed" | "over";

/** What the end of a request was. */
type End = "headers" | "body" | "trailers";

const NO_STEPS: readonly Step[] = [];
const EMPTY = Buffer.alloc(0);

export function openExchange({ mode, maxBodyBytes, hold }: ExchangeTerms): PeerExchange {
  let phase: Phase = "first";
  let end: End | undefined;
  let headers: HeaderList = [];
  let response: ReturnType<typeof passResponse> | undefined;
  let responseMode: PeerMode | undefined;
  const held = new HeldBody();
  /** Of the whole, once it is judged. */
  let whole: Buffer = EMPTY;

  return {
    arrived(arrival) {
      if (phase === "over") return NO_STEPS;
      return arrival.side === "request" ? requested(arrival) : responded(arrival);
    },
    decided(verdict) {
      return phase === "judging" ? settled(verdict) : NO_STEPS;
    },
    left() {
      if (phase === "passed" || phase === "over" || phase === "judging") return NO_STEPS;
      return phase === "first" ? over() : failed("abandoned", "the stream ended before the request's body did");
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

  function begun({ headers: named, isEnd, modes }: Extract<Arrival, { kind: "headers" }>): readonly Step[] {
    const mismatch = modes && mismatchOf(mode, modes.request);
    if (mismatch !== undefined) return failed("mode_mismatch", mismatch);
    responseMode = modes?.response;
    headers = named;
    if (isEnd) return ended("headers");
    phase = "open";
    return mode === "streamed"
      ? answered({ kind: "headers", side: "request", dropsLength: true, asksBody: true })
      : NO_STEPS;
  }

  function bodied(bytes: Buffer, isEnd: boolean): readonly Step[] {
    if (phase === "first") return failed("out_of_order", "a body came before its headers");
    // Some filters send the end of a body twice (ext-proc reference, A.3, 9).
    if (phase !== "open") return end === "headers" ? failed("out_of_order", "a body came after the end") : NO_STEPS;
    if (held.bytes + bytes.length > maxBodyBytes) {
      return refused(new GatewayError("body_too_large", `The request body is larger than ${maxBodyBytes} bytes.`));
    }
    if (!hold(held.room(bytes))) {
      return refused(new GatewayError("overloaded", "The inspector holds as many bytes as it may."));
    }
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
        "The request's body ends in trailers, which guardrails inspect only where the proxy streams full duplex.",
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
    if (end === "headers") {
      // Where there is no body there is nothing to ask for, and its length stays.
      return answered({ kind: "headers", side: "request", dropsLength: false, asksBody: false });
    }
    if (mode === "streamed") {
      const isUntouched = !isChanged && held.chunks === 1;
      return answered({ kind: "chunk", side: "request", becomes: isUntouched ? "itself" : body });
    }
    const steps = [...answered({ kind: "headers", side: "request", dropsLength: isChanged, asksBody: false, sets })];
    const hasTrailers = end === "trailers";
    for (const piece of piecesOf("request", body, !hasTrailers)) steps.push({ do: "answer", answer: piece });
    if (hasTrailers) steps.push({ do: "answer", answer: { kind: "trailers", side: "request" } });
    return steps;
  }

  function responded(arrival: Arrival): readonly Step[] {
    if (phase === "first") return failed("out_of_order", "a response came before its request");
    if (response === undefined) {
      response = passResponse(responseMode);
      const steps = passing(arrival);
      // It may have answered early; or the filter never sent the body it was asked for.
      return phase === "open" && held.chunks === 0 ? [{ do: "count", what: "body_not_sent" }, ...steps] : steps;
    }
    return passing(arrival);
  }

  function passing(arrival: Arrival): readonly Step[] {
    const answers = response?.(arrival);
    if (answers === undefined) return failed("out_of_order", `response ${arrival.kind} came where there are none`);
    return answers.map((answer) => ({ do: "answer", answer }));
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

/** A filter that streams lets headers go before the body is known. */
const HEADERS_HAVE_LEFT = new GatewayError(
  "guardrail_denied",
  "A guardrail rewrites an argument that a header repeats, which it can only where the proxy streams full duplex.",
  { by: { kind: "guardrail", name: "extproc.request_body_mode" } },
);

const answered = (answer: Answer): readonly Step[] => [{ do: "answer", answer }];

/**
 * Why the filter's mode cannot be worked with; undefined: it can. A whole body in one message is as good as a streamed one; of
 * one that is cut the rest would go on unseen. Source: ext-proc reference, A.5.
 */
function mismatchOf(own: ExchangeTerms["mode"], peer: PeerModes["request"]): string | undefined {
  if (own === "duplex") {
    return peer === "duplex" ? undefined : `${OWN} is duplex, and the filter's request_body_mode is ${NAMES[peer]}`;
  }
  return peer === "duplex" || peer === "buffered_partial"
    ? `${OWN} is streamed, and the filter's request_body_mode is ${NAMES[peer]}`
    : undefined;
}

const OWN = "extproc.request_body_mode";

/** As the filter's configuration has them. */
const NAMES: Readonly<Record<PeerMode, string>> = {
  none: "NONE",
  streamed: "STREAMED",
  buffered: "BUFFERED",
  buffered_partial: "BUFFERED_PARTIAL",
  duplex: "FULL_DUPLEX_STREAMED",
};
