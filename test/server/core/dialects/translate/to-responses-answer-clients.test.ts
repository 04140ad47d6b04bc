/** The frames with the official client: its raw iterator, its stream helper, which is stricter, and whole. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import test, { after, before } from "node:test";
import OpenAI from "openai";
import {
  responsesFailure,
  responsesFiltered,
} from "../../../../../src/server/core/dialects/translate/to-responses/response-failure.ts";
import {
  bytesOf,
  eventsOf,
  responseOf,
  SOURCES,
  TRANSCRIPTS,
  termsOf,
  translate,
  type Values,
} from "./to-responses-answer-support.ts";

let played = { type: "", body: "" };

/** Small pieces, so that the client's parser gets frames cut anywhere. */
const PIECE_BYTES = 211;

const server = createServer((request, response) => {
  request.resume();
  response.writeHead(200, { "content-type": played.type });
  const bytes = Buffer.from(played.body);
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) response.write(bytes.subarray(at, at + PIECE_BYTES));
  response.end();
});

let client: OpenAI;

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  client = new OpenAI({ apiKey: "key", baseURL: `http://127.0.0.1:${port}/v1`, maxRetries: 0, logLevel: "off" });
});

after(() => {
  server.closeAllConnections();
  server.close();
});

const REQUEST = { model: "m1", input: "?" };

async function iterated(): Promise<readonly unknown[]> {
  const events: unknown[] = [];
  for await (const event of await client.responses.create({ ...REQUEST, stream: true })) events.push(event);
  return events;
}

/** Drops the helper's convenience fields. */
function shown(response: object): unknown {
  const added = new Set(["parsed", "parsed_arguments", "output_parsed", "output_text", "_request_id"]);
  return JSON.parse(JSON.stringify(response), (name, value) => (added.has(name) ? undefined : value));
}

for (const { row, ...given } of TRANSCRIPTS) {
  for (const from of SOURCES) {
    const { frames, state } = translate(from, [bytesOf(given[from])], termsOf());
    if (state === "ended") {
      test(`the client reads from ${from}: ${row}`, async () => {
        const response: Values = responseOf(frames) ?? assert.fail();
        played = { type: "text/event-stream", body: frames };
        assert.deepEqual(await iterated(), eventsOf(frames));
        assert.deepEqual(shown(await client.responses.stream(REQUEST).finalResponse()), response);
        played = { type: "application/json", body: JSON.stringify(response) };
        assert.deepEqual(shown(await client.responses.create(REQUEST)), response);
      });
    } else {
      test(`the client raises from ${from}: ${row}`, async () => {
        played = { type: "text/event-stream", body: frames };
        await assert.rejects(iterated(), OpenAI.APIError);
        await assert.rejects(client.responses.stream(REQUEST).finalResponse());
      });
    }
  }
}

test("a stream that the gateway ends raises an error in the client, whatever came before", async () => {
  const { messages } = TRANSCRIPTS[0] ?? assert.fail();
  const { frames } = translate("messages", [bytesOf(messages.slice(0, 5))], termsOf());
  const events = eventsOf(frames);
  const failure = { code: "guardrail_denied", message: "A rule denied the answer." };
  const { response = assert.fail() } = events[0] ?? {};
  const last = responsesFailure(failure, { response, sequence: events.length });
  const failed = responseOf(frames + last) ?? assert.fail();
  assert.deepEqual([failed["status"], failed["error"], failed["output"]], ["failed", failure, []]);
  for (const body of [frames + last, responsesFailure(failure)]) {
    played = { type: "text/event-stream", body };
    await assert.rejects(iterated(), (error: unknown) => {
      assert.ok(error instanceof OpenAI.APIError);
      assert.deepEqual([error.code, error.message], [failure.code, failure.message]);
      return true;
    });
    await assert.rejects(client.responses.stream(REQUEST).finalResponse());
  }
});

test("an answer denied by a guardrail ends as filtered, and none of it is repeated", async () => {
  const { chat } = TRANSCRIPTS[0] ?? assert.fail();
  const { frames } = translate("chat", [bytesOf(chat.slice(0, 3))], termsOf());
  const events = eventsOf(frames);
  const { response = assert.fail() } = events[0] ?? {};
  const denied = { code: "guardrail_denied", message: "A rule denied the answer." };
  const last = responsesFiltered(denied, "req-1", { response, sequence: events.length });
  assert.deepEqual(
    eventsOf(frames + last).map((event) => event.sequence_number),
    [...events.keys(), events.length],
  );
  played = { type: "text/event-stream", body: frames + last };
  assert.equal((await iterated()).length, events.length + 1);
  const final: Values = { ...(await client.responses.stream(REQUEST).finalResponse()) };
  assert.deepEqual([final["status"], final["output"]], ["incomplete", []]);
  assert.deepEqual(final["incomplete_details"], { reason: "content_filter" });
  assert.deepEqual(final["gateway"], { ...denied, request_id: "req-1" });
});
