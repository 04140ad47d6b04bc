/**
 * Opens the inspection of one exchange, from its request to its response. Both sides use the guardrails that were in force when
 * it began, and the same pseudonyms for rewritten values. Source: design decisions, sections 11 and 19.
 */
import { GatewayError } from "../../base/index.ts";
import { type ReadMessage, UnreadableAnswer } from "../answers/index.ts";
import { layersIn, peel } from "../coding/index.ts";
import { type ProxiedShape, proxiedAnswerTexts, shapeByHeaders, TooManyTexts } from "../core/agents/index.ts";
import type { Dialect } from "../core/dialects/index.ts";
import { answerFacts, JudgedAnswer, settleAnswerResult } from "../core/guardrails/index.ts";
import { RequestMemory } from "../memory/index.ts";
import { type AnswerInspectionOptions, inspectAnswer, type ResponseInspection } from "./answer/answer-inspection.ts";
import { readHead } from "./answer/response-head.ts";
import type { HeaderList } from "./exchange/index.ts";
import { arrivalOf, headerValue, headerValues } from "./header-list.ts";
import {
  accountOf,
  createRequestState,
  factsOf,
  type InspectionOptions,
  inspectRequest,
  type RequestState,
  variablesOf,
} from "./inspect.ts";
import type { StreamInspection } from "./options.ts";
import { routeOf } from "./proxied-request.ts";
import { lateRefusal } from "./refusal-shape.ts";

/** Routes that list models. Their answers contain no text written by a person. */
const TEXTLESS: ReadonlySet<string> = new Set(["models", "model"]);

const MAX_UNPACKED_BYTES = 32 << 20;

export function beginInspection(using: InspectionOptions): Pick<StreamInspection, "inspect" | "answers" | "onOver"> {
  const state = createRequestState(using);
  return {
    onOver() {
      state.span?.end(state.refusal);
      state.span = undefined;
    },
    inspect: (request, signal) => inspectRequest(request, signal, using, state),
    answers: {
      areRead: state.guard?.readsOutput === true,
      begin: (request, response) => beginAnswer(request, response, state, using),
    },
  };
}

function beginAnswer(
  request: HeaderList,
  response: HeaderList,
  state: RequestState,
  { sinks }: InspectionOptions,
): ResponseInspection | undefined {
  const { guard } = state;
  const route = routeOf(request);
  if (guard?.readsOutput !== true || TEXTLESS.has(route.name)) return undefined;
  const head = readHead(headerValue(request, ":method"), response);
  if (head === undefined) return undefined;
  return {
    head,
    read(ports, reserve) {
      const once = state.message ?? { model: "", route: route.name, method: "", name: "" };
      const leaving = new AbortController();
      const { span } = state;
      const occasion = { variables: variablesOf(once), rewriting: state.rewriting, tracer: span };
      const inspection = span?.inspection("response");
      const answer = new JudgedAnswer(guard, occasion, leaving.signal);
      const dialect: Dialect = route.dialect === "messages" ? "messages" : "compat";
      // A stream that a client opens without a body is recognized by its headers.
      const shape = state.shape ?? shapeByHeaders(arrivalOf(request));
      const terms: AnswerInspectionOptions = {
        head,
        answered: { dialect, route, read: shape && messagesOf(shape) },
        answer,
        leaving,
        metrics: sinks.metrics,
        settle(isLeft) {
          inspection?.end(answerFacts(answer, isLeft));
          return refusalIn(
            () => settleAnswerResult(answer.judged, () => factsOf("response", once, request), sinks).error,
          );
        },
        refusalInstead(error, stream) {
          state.refusal ??= error;
          return lateRefusal(error, request, state.shape, stream);
        },
        decode: (body) => decompressAnswer(body, headerValues(response, "content-encoding"), reserve),
        reserve,
      };
      return inspectAnswer(terms, ports);
    },
  };
}

const messagesOf =
  (shape: ProxiedShape): ReadMessage =>
  (message) => {
    try {
      return proxiedAnswerTexts(shape, message);
    } catch (cause) {
      if (cause instanceof TooManyTexts) throw new UnreadableAnswer("it has too many texts");
      throw cause;
    }
  };

/** Decompresses an answer. Throws `UnreadableAnswer`, or `overloaded`. */
async function decompressAnswer(
  body: Buffer,
  encoding: string,
  reserve: AnswerInspectionOptions["reserve"],
): Promise<Buffer> {
  const requestMemory = new RequestMemory(accountOf({ reserve }));
  try {
    return (await peel(body, layersIn(encoding), MAX_UNPACKED_BYTES, requestMemory)).plain;
  } catch (cause) {
    if (cause instanceof GatewayError && cause.code === "overloaded") throw cause;
    throw new UnreadableAnswer("it cannot be decompressed as its content encoding says");
  } finally {
    requestMemory.close();
  }
}

function refusalIn(settle: () => GatewayError | undefined): GatewayError | undefined {
  try {
    return settle();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}
