/** A client of the inspector that acts like a filter, without a proxy. */
import { type ClientDuplexStream, credentials, type ServiceError } from "@grpc/grpc-js";
import {
  loadExtProc,
  type ProcessingRequest,
  type ProcessingResponse__Output,
} from "../../../../src/server/ext-proc/index.ts";
import { within } from "../../support/wait.ts";

const { ExternalProcessor } = await loadExtProc();

interface ProcessingStream {
  readonly send: (message: ProcessingRequest) => void;
  /** Returns the next answer, or `undefined` at the end of the stream. */
  readonly nextAnswer: () => Promise<ProcessingResponse__Output | undefined>;
  readonly end: () => void;
  /** gRPC status of the end of the stream. */
  readonly ended: Promise<number>;
}

interface Filter {
  readonly openStream: () => ProcessingStream;
  readonly close: () => void;
}

/** `address` is the inspector's. All streams share one connection. */
export function connectFilter(address: string): Filter {
  const client = new ExternalProcessor(address, credentials.createInsecure());
  return { openStream: () => talkOver(client.Process()), close: () => client.close() };
}

function talkOver(call: ClientDuplexStream<ProcessingRequest, ProcessingResponse__Output>): ProcessingStream {
  const answers = call[Symbol.asyncIterator]();
  const ended = new Promise<number>((resolve) => call.on("status", ({ code }) => resolve(code)));
  return {
    send: (message) => void call.write(message),
    async nextAnswer() {
      try {
        const { value, done } = await within("an answer of the inspector", answers.next());
        return done === true ? undefined : (value as ProcessingResponse__Output);
      } catch (error) {
        if ((error as ServiceError).code === undefined) throw error;
        return undefined;
      }
    },
    end: () => call.end(),
    ended,
  };
}

const listed = (named: Readonly<Record<string, string>>) => ({
  headers: Object.entries(named).map(([key, value]) => ({ key, raw_value: Buffer.from(value) })),
});

const JSON_TYPE = { "content-type": "application/json" };

export const headers = (
  path = "/v1/chat/completions",
  further: Readonly<Record<string, string>> = {},
): ProcessingRequest => ({
  request_headers: { headers: listed({ ":method": "POST", ":path": path, ...JSON_TYPE, ...further }) },
});

export const body = (text: string, isEnd = true): ProcessingRequest => ({
  request_body: { body: Buffer.from(text), end_of_stream: isEnd },
});

export const chat = (content: string): string => JSON.stringify({ model: "m", messages: [{ role: "user", content }] });

/** Returns the outcome of a response body in one chunk from a streaming filter. */
export async function answerTo(openStream: ProcessingStream, text: string): Promise<string> {
  openStream.send({ response_headers: { headers: listed({ ":status": "200", ...JSON_TYPE }) } });
  await openStream.nextAnswer();
  openStream.send({ response_body: { body: Buffer.from(text), end_of_stream: true } });
  const mutation = (await openStream.nextAnswer())?.response_body?.response?.body_mutation;
  return mutation?.body === undefined ? text : String(mutation.body);
}

/** Returns the outcome of a body: `allowed`, the rewritten text, or the code of its refusal. */
export async function outcomeOf(openStream: ProcessingStream, text: string): Promise<string> {
  openStream.send(headers());
  await openStream.nextAnswer();
  openStream.send(body(text));
  return verdictOf(await openStream.nextAnswer());
}

export function verdictOf(answer: ProcessingResponse__Output | undefined): string {
  if (answer?.immediate_response !== undefined) {
    return (JSON.parse(String(answer.immediate_response?.body)) as { error: { code: string } }).error.code;
  }
  if (answer?.request_body === undefined) return "nothing";
  const rewritten = answer.request_body?.response?.body_mutation?.body;
  return rewritten === undefined ? "allowed" : String(rewritten);
}
