/**
 * Implements the state machine of an inspected response. With a duplex filter nothing is sent on before it was inspected, not
 * even the status and headers, so that a refusal can have its own status. A streaming filter sends the status on, and each chunk
 * is answered at once with the bytes that may be shown by then; only the last chunk waits. Source: ext-proc reference, A.2, A.3,
 * A.7; design decisions, section 19.
 */
import { GatewayError } from "../../../base/index.ts";
import { piecesOf } from "./body-pieces.ts";
import { passResponse } from "./response-passing.ts";
import type { Answer, Arrival, HeadChanges, HeaderList, PeerMode, ResponseNews, Step } from "./types.ts";

export interface ResponseSide {
  /** Handles a message of the peer. Returns `undefined` if it is out of order. */
  readonly receive: (arrival: Arrival) => readonly Step[] | undefined;
  readonly applyNews: (news: ResponseNews) => readonly Step[];
  readonly afterFeed: () => readonly Step[];
  /** Whether the whole response has arrived and is not answered yet. */
  readonly isAnswerOwed: () => boolean;
  /** Whether an inspected response has begun and has not ended. */
  readonly isOpen: () => boolean;
}

/** Terms of the inspection. `peer`: mode of the filter, if it reported one. */
interface ResponseSideOptions {
  readonly mode: "streamed" | "duplex";
  readonly peer: PeerMode | undefined;
  readonly begin: (response: HeaderList) => HeadChanges | undefined;
}

/**
 * Phase of the response. `first`: no headers have arrived. `open`: it is being inspected. `refused`: nothing more is sent on.
 * `done`: everything was answered.
 */
type Phase = "first" | "passing" | "open" | "refused" | "done";

const side = "response";
const NO_STEPS: readonly Step[] = [];
const EMPTY = Buffer.alloc(0);

export function inspectResponse({ mode, peer, begin }: ResponseSideOptions): ResponseSide {
  const passUninspected = passResponse(peer ?? mode);
  let phase: Phase = "first";
  /** Part of the response that marked its end; `undefined` before. */
  let end: "body" | "trailers" | undefined;
  let isHeadAnswered = false;
  /** Whether a streaming filter waits for the answer to a chunk. */
  let isChunkOwed = false;
  let chunks = 0;
  let firstChunk: Buffer = EMPTY;
  /** Bytes that may be shown but have no chunk to answer yet. Only used for a streaming filter. */
  let outbox: Buffer[] = [];
  let lateHeaders: ReadonlyMap<string, string> | undefined;

  return {
    receive(arrival) {
      if (phase === "passing") return pass(arrival);
      switch (arrival.kind) {
        case "headers":
          return phase === "first" ? receiveHeaders(arrival) : undefined;
        case "body":
          return phase === "first" ? undefined : receiveBody(arrival.bytes, arrival.isEnd || peer === "buffered");
        case "trailers":
          return phase === "first" ? undefined : receiveTrailers();
        default:
          return arrival satisfies never;
      }
    },
    applyNews(news) {
      if (phase !== "open") return NO_STEPS;
      if (news.kind === "refused") return deliverRefusal(news);
      return mode === "duplex" ? sendPieces(news) : gatherForChunk(news);
    },
    afterFeed() {
      return isChunkOwed && end === undefined ? answerChunk() : NO_STEPS;
    },
    isAnswerOwed: () => phase === "open" && end !== undefined,
    isOpen: () => (phase === "open" || phase === "refused") && end === undefined,
  };

  function receiveHeaders({ headers, isEnd }: Extract<Arrival, { kind: "headers" }>): readonly Step[] {
    const status = statusOf(headers);
    // An informational response (1xx) precedes the final one and is passed on.
    if (status >= 100 && status < 200 && status !== SWITCHING_PROTOCOLS && !isEnd)
      return answerSteps([headAnswer(undefined)]);
    const head = isEnd ? undefined : begin(headers);
    if (head === undefined) {
      phase = "passing";
      return pass({ kind: "headers", side, headers, isEnd, modes: undefined }) ?? NO_STEPS;
    }
    phase = "open";
    if (mode === "duplex") return NO_STEPS;
    isHeadAnswered = true;
    return answerSteps([headAnswer(head)]);
  }

  function receiveBody(bytes: Buffer, isEnd: boolean): readonly Step[] {
    // Some filters send the end of a body twice (ext-proc reference, A.3, 9).
    if (end !== undefined || phase === "done") return NO_STEPS;
    if (isEnd) end = "body";
    if (mode === "streamed") {
      chunks += 1;
      if (chunks === 1) firstChunk = bytes;
      isChunkOwed = true;
    }
    if (phase === "refused") return mode === "streamed" ? answerChunk() : NO_STEPS;
    return [{ do: "feed", bytes, isEnd }];
  }

  function receiveTrailers(): readonly Step[] | undefined {
    // A filter that buffers sends trailers after its only chunk.
    if (peer === "buffered" && end === "body") return answerSteps([{ kind: "trailers", side }]);
    if (phase === "done" && mode === "duplex" && end === undefined) return NO_STEPS;
    if (end !== undefined) return undefined;
    end = "trailers";
    if (phase === "refused") {
      return outbox.length > 0 ? refuseForTrailers() : answerSteps([{ kind: "trailers", side }]);
    }
    const feeding: Step = { do: "feed", bytes: EMPTY, isEnd: true };
    return mode === "duplex" ? [feeding] : [{ do: "count", what: "response_trailers" }, feeding];
  }

  function deliverRefusal({ error, late: body, sets }: Extract<ResponseNews, { kind: "refused" }>): readonly Step[] {
    // No byte was sent on, and the filter still holds the status back.
    if (!isHeadAnswered || peer === "buffered") return [{ do: "refuse", error }];
    phase = "refused";
    if (mode === "duplex") {
      const hasTrailers = end === "trailers";
      phase = "done";
      const messages: Answer[] = [...piecesOf(side, body, !hasTrailers)];
      return answerSteps(hasTrailers ? [...messages, { kind: "trailers", side }] : messages);
    }
    outbox.push(body);
    lateHeaders = sets;
    if (end === "trailers") return refuseForTrailers();
    return isChunkOwed && end === "body" ? answerChunk() : NO_STEPS;
  }

  function sendPieces({ kind, bytes, head }: Exclude<ResponseNews, { kind: "refused" }>): readonly Step[] {
    const messages: Answer[] = [];
    if (!isHeadAnswered) messages.push(headAnswer(head));
    isHeadAnswered = true;
    const isEnd = kind === "ended";
    messages.push(...piecesOf(side, bytes, isEnd && end !== "trailers"));
    if (isEnd) {
      phase = "done";
      if (end === "trailers") messages.push({ kind: "trailers", side });
    }
    return answerSteps(messages);
  }

  function gatherForChunk({ kind, bytes, head }: Exclude<ResponseNews, { kind: "refused" }>): readonly Step[] {
    if (bytes.length > 0) outbox.push(bytes);
    if (kind !== "ended") return NO_STEPS;
    if (end === "trailers") {
      // All chunks were answered, so bytes that are left can no longer be sent: only trailers may follow.
      if (outbox.length > 0) return refuseForTrailers();
      phase = "done";
      return answerSteps([{ kind: "trailers", side }]);
    }
    lateHeaders = head.sets.size === 0 ? undefined : head.sets;
    return answerChunk();
  }

  function answerChunk(): readonly Step[] {
    isChunkOwed = false;
    const bytes = outbox.length === 1 ? (outbox[0] as Buffer) : Buffer.concat(outbox);
    outbox = [];
    if (end === "body") phase = "done";
    const isUntouched = chunks === 1 && end === "body" && bytes.equals(firstChunk);
    if (chunks > 1) firstChunk = EMPTY;
    // A buffering filter holds the headers back only for a body that arrived in one chunk.
    const sets = chunks === 1 ? lateHeaders : undefined;
    const replacement = bytes.length === 0 && !isUntouched ? "nothing" : isUntouched ? "itself" : bytes;
    return answerSteps([{ kind: "chunk", side, replacement, ...(sets !== undefined && { sets }) }]);
  }

  /**
   * Ends the stream with an error, because the refusal can no longer be delivered and the client must not take its part for the
   * whole.
   */
  function refuseForTrailers(): readonly Step[] {
    phase = "done";
    return [{ do: "refuse", error: TRAILERS }];
  }

  function pass(arrival: Arrival): readonly Step[] | undefined {
    const messages = passUninspected(arrival);
    return messages && answerSteps(messages);
  }
}

const SWITCHING_PROTOCOLS = 101;

const TRAILERS = new GatewayError(
  "trailers_not_inspected",
  "The response's body ends in trailers, which guardrails can only inspect if the proxy streams in full duplex mode.",
);

const answerSteps = (list: readonly Answer[]): readonly Step[] => list.map((answer) => ({ do: "answer", answer }));

function headAnswer(head: HeadChanges | undefined): Answer {
  const isChanged = head !== undefined && head.drops.length + head.sets.size > 0;
  const plain = { kind: "headers", side, dropsLength: false, asksBody: false } as const;
  return isChanged ? { ...plain, ...head } : plain;
}

function statusOf(headers: HeaderList): number {
  const at = headers.indexOf(":status");
  return at < 0 || at % 2 === 1 ? 0 : Number(headers[at + 1]);
}
