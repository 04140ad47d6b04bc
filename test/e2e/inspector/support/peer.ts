/** A client of the inspector that acts like a filter, without a proxy. */
import { type ClientDuplexStream, credentials, type ServiceError } from "@grpc/grpc-js";
import {
  loadExtProc,
  type ProcessingRequest,
  type ProcessingResponse__Output,
} from "../../../../src/server/ext-proc/index.ts";
import { within } from "../../support/wait.ts";

const { ExternalProcessor } = await loadExtProc();

interface Talk {
  readonly say: (message: ProcessingRequest) => void;
  /** Returns the next answer, or `undefined` at the end of the stream. */
  readonly nextAnswer: () => Promise<ProcessingResponse__Output | undefined>;
  readonly end: () => void;
  /** gRPC status of the end of the stream. */
  readonly ended: Promise<number>;
}

interface Filter {
  readonly talk: () => Talk;
  readonly close: () => void;
}

/** `address` is the inspector's. All streams share one connection. */
export function connectFilter(address: string): Filter {
  const client = new ExternalProcessor(address, credentials.createInsecure());
  return { talk: () => talkOver(client.Process()), close: () => client.close() };
}

function talkOver(call: ClientDuplexStream<ProcessingRequest, ProcessingResponse__Output>): Talk {
  const answers = call[Symbol.asyncIterator]();
  const ended = new Promise<number>((resolve) => call.on("status", ({ code }) => resolve(code)));
  return {
    say: (message) => void call.write(message),
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
export async function answerTo(talk: Talk, text: string): Promise<string> {
  talk.say({ response_headers: { headers: listed({ ":status": "200", ...JSON_TYPE }) } });
  await talk.nextAnswer();
  talk.say({ response_body: { body: Buffer.from(text), end_of_stream: true } });
  const mutation = (await talk.nextAnswer())?.response_body?.response?.body_mutation;
  return mutation?.body === undefined ? text : String(mutation.body);
}

/** Returns the outcome of a body: `allowed`, the rewritten text, or the code of its refusal. */
export async function fateOf(talk: Talk, text: string): Promise<string> {
  talk.say(headers());
  await talk.nextAnswer();
  talk.say(body(text));
  return verdictOf(await talk.nextAnswer());
}

export function verdictOf(answer: ProcessingResponse__Output | undefined): string {
  if (answer?.immediate_response !== undefined) {
    return (JSON.parse(String(answer.immediate_response?.body)) as { error: { code: string } }).error.code;
  }
  if (answer?.request_body === undefined) return "nothing";
  const rewritten = answer.request_body?.response?.body_mutation?.body;
  return rewritten === undefined ? "allowed" : String(rewritten);
}
