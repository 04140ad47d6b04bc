/**
 * Runs one request's exchange with an endpoint picker, which selects the destination and then learns the result. The stream stays
 * open until the answer ends, because the picker counts the request as running until then. Source: ext-proc reference, B.3.
 */
import type {
  ExternalProcessorClient,
  Grpc,
  Metadata,
  ProcessingRequest,
  ProcessingResponse__Output,
} from "../../ext-proc/index.ts";
import { toStruct } from "../../ext-proc/index.ts";
import type { UpstreamRequest } from "../ports.ts";
import { destinationOf, mutatedHeader, overloadAnswer, type PickerAnswer } from "./picker-answers.ts";
import { modelIn } from "./requested-model.ts";

/** Chunk size that pickers use themselves, in bytes. Some peers accept no message above 64 KiB. */
const CHUNK_BYTES = 62_000;

/** Body modes of ext_proc (enum `BodySendMode`). */
const NONE = 0;
const FULL_DUPLEX_STREAMED = 4;

const SUBSET_HINT = "envoy.lb.subset_hint";
const SUBSET = "x-gateway-destination-endpoint-subset";
const SERVED = "x-gateway-destination-endpoint-served";

/** Request headers that are sent to a picker. None contains a credential of the gateway or the client. */
const FORWARDED_HEADERS: ReadonlySet<string> = new Set([
  "content-type",
  "x-request-id",
  "x-gateway-inference-fairness-id",
  "x-gateway-inference-objective",
  "x-gateway-model-name-rewrite",
]);

export interface PickerQuery {
  readonly request: UpstreamRequest;
  /** Scheme of the pool, `http` or `https`. The next field is the value of its `host` header. */
  readonly scheme: string;
  readonly authority: string;
  readonly requestId: string | undefined;
  /** Members of the subset that the request is limited to, as `address:port`; `undefined` for the whole pool. */
  readonly subset: readonly string[] | undefined;
  /** Timeout from the start of the call to the decision, in milliseconds. */
  readonly timeoutMs: number;
}

export type PickFailure = "late" | "unreachable" | "violation" | "refused";

type Pick =
  | { readonly kind: "picked"; readonly endpoints: readonly string[]; readonly model: string | undefined }
  | { readonly kind: "answered"; readonly answer: PickerAnswer }
  | { readonly kind: "failed"; readonly failure: PickFailure };

type Call = ReturnType<ExternalProcessorClient["Process"]>;

export class PickerExchange {
  /** Decision of the picker. It settles once, within the timeout. */
  readonly pick: Promise<Pick>;
  /** Called once when the picker takes the request back before its answer has begun. */
  onEvicted: ((answer: PickerAnswer) => void) | undefined;
  readonly #call: Call;
  readonly #hint: Metadata | undefined;
  readonly #body: Buffer | null;
  readonly #timer: NodeJS.Timeout;
  #settle: ((pick: Pick) => void) | undefined;
  #endpoints: readonly string[] | undefined;
  #hasEnded = false;
  #hasAnswer = false;
  /** Whether the picker returned chunks of the body unchanged, so that no echo follows. */
  #isUnchanged = false;
  #echo: Buffer[] = [];
  #echoBytes = 0;

  constructor(client: ExternalProcessorClient, grpc: Grpc, query: PickerQuery) {
    const { subset, timeoutMs, request } = query;
    this.#hint = subset && { filter_metadata: { [SUBSET_HINT]: toStruct({ [SUBSET]: subset }) } };
    this.#body = request.body;
    this.pick = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.#timer = setTimeout(() => this.#decide(this.#pickedSoFar() ?? { kind: "failed", failure: "late" }), timeoutMs);
    this.#call = client.Process(new grpc.Metadata());
    this.#call.on("data", (answer: ProcessingResponse__Output) => this.#read(answer));
    this.#call.on("error", () => this.#decide(this.#pickedSoFar() ?? { kind: "failed", failure: "unreachable" }));
    this.#call.on("end", () => this.#decide(this.#pickedSoFar() ?? { kind: "failed", failure: "violation" }));
    this.#send(headersOf(query));
    this.#sendBody(0);
  }

  /** Reports that the answer begins. `served`: member that serves it. */
  reportAnswer(status: number, contentType: string | undefined, served: string): void {
    if (this.#hasEnded) return;
    this.#hasAnswer = true;
    const headers = [
      pair(":status", String(status)),
      ...(contentType === undefined ? [] : [pair("content-type", contentType)]),
    ];
    this.#call.write({
      response_headers: { headers: { headers } },
      metadata_context: {
        filter_metadata: { ...this.#hint?.filter_metadata, "envoy.lb": toStruct({ [SERVED]: served }) },
      },
    });
  }

  /** Ends the exchange. `isAborted`: the answer is not complete, but is no longer wanted. */
  end(isAborted: boolean): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    if (isAborted) this.#call.cancel();
    else this.#call.end();
  }

  #send(message: ProcessingRequest): void {
    this.#call.write(this.#hint === undefined ? message : { ...message, metadata_context: this.#hint });
  }

  /** Sends the body as fast as the picker reads it. */
  #sendBody(from: number): void {
    const body = this.#body;
    for (let at = from; body !== null && at < body.length; at += CHUNK_BYTES) {
      if (this.#hasEnded) return;
      const next = at + CHUNK_BYTES;
      const message: ProcessingRequest = {
        request_body: { body: body.subarray(at, next), end_of_stream: next >= body.length },
        ...(this.#hint !== undefined && { metadata_context: this.#hint }),
      };
      if (!this.#call.write(message) && next < body.length) {
        this.#call.once("drain", () => this.#sendBody(next));
        return;
      }
    }
  }

  #read(answer: ProcessingResponse__Output): void {
    if (answer.immediate_response !== undefined) this.#readRefusal(answer);
    else if (answer.request_headers !== undefined) this.#readPick(answer);
    else if (answer.request_body !== undefined) this.#readEcho(answer);
  }

  #readRefusal(answer: ProcessingResponse__Output): void {
    const shown = overloadAnswer(answer);
    if (this.#settle !== undefined) {
      this.#decide(shown === undefined ? { kind: "failed", failure: "refused" } : { kind: "answered", answer: shown });
    } else if (shown?.status === 429 && !this.#hasAnswer && !this.#hasEnded) this.onEvicted?.(shown);
  }

  #readPick(answer: ProcessingResponse__Output): void {
    if (this.#settle === undefined || this.#endpoints !== undefined) return;
    const destination = destinationOf(answer);
    if (destination.kind !== "endpoints") {
      this.#decide({ kind: "failed", failure: "violation" });
      return;
    }
    this.#endpoints = destination.endpoints;
    // A picker that sets a length will send the body back next.
    const echoes = mutatedHeader(answer.request_headers?.response?.header_mutation, "content-length") !== undefined;
    if (!echoes || this.#isUnchanged || this.#body === null) this.#decide(this.#picked(undefined));
  }

  #readEcho(answer: ProcessingResponse__Output): void {
    if (this.#settle === undefined) return;
    const chunk = answer.request_body?.response?.body_mutation?.streamed_response;
    if (chunk === undefined) {
      this.#isUnchanged = true;
      if (this.#endpoints !== undefined) this.#decide(this.#picked(undefined));
      return;
    }
    const bytes = chunk.body ?? Buffer.alloc(0);
    this.#echoBytes += bytes.length;
    // A longer body is not an echo; the decision is used without it.
    if (this.#echoBytes <= 2 * (this.#body?.length ?? 0) + CHUNK_BYTES) this.#echo.push(bytes);
    else this.#echo = [];
    if (chunk.end_of_stream === true && this.#endpoints !== undefined) this.#decide(this.#picked(this.#modelOfEcho()));
  }

  #modelOfEcho(): string | undefined {
    const whole = Buffer.concat(this.#echo);
    if (whole.length !== this.#echoBytes || (this.#body !== null && whole.equals(this.#body))) return undefined;
    return modelIn(whole);
  }

  #picked(model: string | undefined): Pick {
    return { kind: "picked", endpoints: this.#endpoints ?? [], model };
  }

  #pickedSoFar(): Pick | undefined {
    return this.#endpoints && this.#picked(undefined);
  }

  #decide(pick: Pick): void {
    const settle = this.#settle;
    if (settle === undefined) return;
    this.#settle = undefined;
    this.#echo = [];
    clearTimeout(this.#timer);
    if (pick.kind !== "picked") this.end(true);
    settle(pick);
  }
}

const pair = (key: string, value: string) => ({ key, raw_value: Buffer.from(value, "latin1") });

function headersOf({ request, scheme, authority, requestId }: PickerQuery): ProcessingRequest {
  const { method, path, headers, body } = request;
  const sentHeaders = [
    pair(":method", method),
    pair(":path", path),
    pair(":authority", authority),
    pair(":scheme", scheme),
  ];
  let hasId = false;
  for (let i = 0; i < headers.length; i += 2) {
    const name = (headers[i] as string).toLowerCase();
    if (!FORWARDED_HEADERS.has(name)) continue;
    hasId ||= name === "x-request-id";
    sentHeaders.push(pair(name, headers[i + 1] as string));
  }
  if (!hasId && requestId !== undefined) sentHeaders.push(pair("x-request-id", requestId));
  return {
    request_headers: { headers: { headers: sentHeaders }, end_of_stream: body === null },
    protocol_config: { request_body_mode: FULL_DUPLEX_STREAMED, response_body_mode: NONE },
  };
}
