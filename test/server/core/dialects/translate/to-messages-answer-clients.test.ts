/** The frames with the official clients, the newest and an older one: read raw, and assembled by their helper. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import test, { after, before } from "node:test";
import Anthropic, { APIError } from "@anthropic-ai/sdk";
import Classic, { APIError as ClassicAPIError } from "anthropic-sdk-classic";
import { chatAsEvents } from "../../../../../src/server/core/dialects/translate/to-messages/chat-to-message.ts";
import {
  bytesOf,
  framesOf,
  type Message,
  messageOf,
  readGolden,
  STAMP,
  type StreamCase,
  type Translated,
  termsOf,
  textOf,
  translate,
  type WholeCase,
} from "./to-messages-answer-support.ts";

let played = "";

/** Serves the scripted answer for any request, cut where reads may end: inside frames and characters. */
const server = createServer((request, response) => {
  request.resume();
  response.writeHead(200, { "content-type": "text/event-stream" });
  const bytes = Buffer.from(played);
  const middle = bytes.length >> 1;
  response.write(bytes.subarray(0, middle));
  setImmediate(() => response.end(bytes.subarray(middle)));
});

before(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
after(() => {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(resolve));
});

const REQUEST = { model: "model-asked", max_tokens: 100, messages: [{ role: "user" as const, content: "Hi" }] };

interface Client {
  readonly name: string;
  events(): Promise<readonly unknown[]>;
  final(): Promise<object>;
  readonly problem: typeof APIError | typeof ClassicAPIError;
}

const settings = () => ({
  apiKey: "key",
  baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  maxRetries: 0,
  logLevel: "off" as const,
});

const CLIENTS: readonly Client[] = [
  {
    name: "the newest client",
    problem: APIError,
    events: async () => all(await new Anthropic(settings()).messages.create({ ...REQUEST, stream: true })),
    final: () => new Anthropic(settings()).messages.stream(REQUEST).finalMessage(),
  },
  {
    name: "the older client",
    problem: ClassicAPIError,
    events: async () => all(await new Classic(settings()).messages.create({ ...REQUEST, stream: true })),
    final: () => new Classic(settings()).messages.stream(REQUEST).finalMessage(),
  },
];

async function all(stream: AsyncIterable<unknown>): Promise<readonly unknown[]> {
  const events: unknown[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

function shown(message: object): object {
  const { id, model, role, content, stop_reason, stop_sequence, usage } = message as Message;
  return JSON.parse(JSON.stringify({ id, model, role, content, stop_reason, stop_sequence, usage }));
}

/** Neither client passes pings on. */
const isShown = (event: { readonly type: string } | undefined): boolean => event !== undefined && event.type !== "ping";

const STREAMS = ["streams.json", "deviations.json", "broken.json"].flatMap((name) =>
  readGolden<StreamCase>(name).map(({ row, terms, given }) => ({
    row,
    isCut: row.includes("cut off") && !row.includes("without finish_reason length"),
    translated: translate([bytesOf(given)], termsOf(terms)),
  })),
);

const WHOLES = readGolden<WholeCase>("whole.json")
  .filter(({ expect }) => !expect.startsWith("problem: "))
  .map(({ row, terms, given }) => ({
    row: `${row}, as a stream`,
    isCut: false,
    translated: { frames: chatAsEvents(textOf(given), termsOf(terms), STAMP), problem: undefined, state: "ended" },
  }));

const CASES: readonly { readonly row: string; readonly isCut: boolean; readonly translated: Translated }[] = [
  ...STREAMS,
  ...WHOLES,
];

for (const client of CLIENTS) {
  for (const { row, isCut, translated } of CASES) {
    const { frames, state } = translated;
    if (state === "ended") {
      test(`${client.name} reads: ${row}`, async () => {
        played = frames;
        assert.deepEqual(await client.events(), framesOf(frames).filter(isShown));
        const message = messageOf(frames) ?? assert.fail();
        const final = shown(await client.final());
        // The client itself decides how to read truncated arguments.
        if (isCut) assert.equal((final as Message)["stop_reason"], "max_tokens");
        else assert.deepEqual(final, shown(message));
      });
    }
    if (state === "failed") {
      test(`${client.name} raises: ${row}`, async () => {
        played = frames;
        const { type } = framesOf(frames).at(-1)?.error ?? assert.fail();
        const isTold = (error: unknown): boolean => error instanceof client.problem && error.type === type;
        await assert.rejects(client.events(), isTold);
        await assert.rejects(client.final(), isTold);
      });
    }
  }
}
