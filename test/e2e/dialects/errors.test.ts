/**
 * A provider's error reaches the client of the other dialect as an error of its own dialect, with the provider's
 * status. Source: dialects reference, 10.1 and 10.2, and 11.3 for the resulting SDK errors.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { raisedBy } from "../support/outcome.ts";
import { reply } from "../support/upstream.ts";
import { QUESTION_REQUEST } from "./support/features/question.ts";
import { aliasOf, startRig } from "./support/rig.ts";
import { startHostile } from "./support/scripted.ts";

interface Shown {
  readonly raised: readonly [openai: string, anthropic: string];
  /** Expected error for a compat client of a messages provider. */
  readonly compat: { readonly type: string; readonly code: string | null };
  /** Expected error for a messages client of a compat provider. */
  readonly messages: string;
}

const STATUSES: ReadonlyMap<number, Shown> = new Map([
  [400, shown("BadRequestError", "invalid_request_error", null, "invalid_request_error")],
  [401, shown("AuthenticationError", "invalid_request_error", "invalid_api_key", "authentication_error")],
  [403, shown("PermissionDeniedError", "invalid_request_error", "permission_denied", "permission_error")],
  [404, shown("NotFoundError", "invalid_request_error", "model_not_found", "not_found_error")],
  [413, shown(["APIError", "ContentTooLargeError"], "invalid_request_error", null, "request_too_large")],
  [422, shown("UnprocessableEntityError", "invalid_request_error", null, "invalid_request_error")],
  [429, shown("RateLimitError", "rate_limit_error", "rate_limit_exceeded", "rate_limit_error")],
  [500, shown("InternalServerError", "server_error", null, "api_error")],
  // A messages provider calls a 503 an `api_error`, and its type is more specific than its status.
  [503, shown(["InternalServerError", "ServiceUnavailableError"], "server_error", null, "overloaded_error")],
  [
    529,
    shown(
      ["InternalServerError", "OverloadedError"],
      "service_unavailable_error",
      "server_is_overloaded",
      "overloaded_error",
    ),
  ],
]);

function shown(raised: string | readonly [string, string], type: string, code: string | null, messages: string): Shown {
  return { raised: typeof raised === "string" ? [raised, raised] : raised, compat: { type, code }, messages };
}

const file = { after };
const rig = await startRig(file, [...[...STATUSES.keys()].map((status) => `sim-${status}`), "sim-429-after-7s"]);
const { openai, anthropic } = rig.clients;
const hostile = await startHostile(file);

const ofMessages = (model: string) => ({
  ...QUESTION_REQUEST.anthropic,
  max_tokens: 100,
  model: aliasOf("compat", model),
});
const ofChat = (model: string) => ({ ...QUESTION_REQUEST.openai, model: aliasOf("messages", model) });

for (const [status, { raised, compat, messages }] of STATUSES) {
  test(`a ${status} of a messages provider raises the compat client's own error, streamed or not`, async () => {
    // All promises have handlers from the start, since one may fail while another is awaited.
    for (const raising of [
      openai.chat.completions.create(ofChat(`sim-${status}`)),
      openai.chat.completions.create({ ...ofChat(`sim-${status}`), stream: true }),
      openai.chat.completions.stream(ofChat(`sim-${status}`)).finalChatCompletion(),
    ].map(raisedBy)) {
      const error = await raising;
      assert.deepEqual([error.raised, error.status], [raised[0], status]);
      assert.deepEqual({ type: error.type, code: error.code }, compat);
      assert.equal(typeof error.requestId, "string");
    }
  });

  test(`a ${status} of a compat provider raises the messages client's own error, streamed or not`, async () => {
    // All promises have handlers from the start, since one may fail while another is awaited.
    for (const raising of [
      anthropic.messages.create(ofMessages(`sim-${status}`)),
      anthropic.messages.create({ ...ofMessages(`sim-${status}`), stream: true }),
      anthropic.messages.stream(ofMessages(`sim-${status}`)).finalMessage(),
    ].map(raisedBy)) {
      const error = await raising;
      assert.deepEqual([error.raised, error.status, error.type], [raised[1], status, messages]);
      assert.equal(typeof error.requestId, "string");
    }
  });
}

test("the provider's retry headers reach the client", async () => {
  for (const call of [
    () => openai.chat.completions.create(ofChat("sim-429-after-7s")),
    () => anthropic.messages.create(ofMessages("sim-429-after-7s")),
  ]) {
    await assert.rejects(call, ({ headers }: { readonly headers: Headers }) => headers.get("retry-after") === "7");
  }
});

const PAGE = "<html><body><h1>502 Bad Gateway</h1>secret-of-the-page</body></html>";

/** Bodies outside the provider's dialect, with the text that may be shown of each. */
const BODIES: readonly { readonly body: string; readonly type: string; readonly pattern: RegExp }[] = [
  { body: PAGE, type: "text/html", pattern: /no message that can be shown/ },
  { body: PAGE, type: "application/json", pattern: /no message that can be shown/ },
  { body: "", type: "text/plain", pattern: /no message that can be shown/ },
  { body: "null", type: "application/json", pattern: /no message that can be shown/ },
  { body: '{"error":"a bare text"}', type: "application/json", pattern: /a bare text/ },
  { body: '{"detail":"in detail"}', type: "application/json", pattern: /in detail/ },
  { body: '[{"error":{"message":"of a list"}}]', type: "application/json", pattern: /of a list/ },
];

for (const status of [400, 502]) {
  test(`a ${status} without a body of the provider's dialect becomes an error of the client's dialect, and no page is shown`, async () => {
    const raised = status === 400 ? "BadRequestError" : "InternalServerError";
    for (const { body, type, pattern } of BODIES) {
      for (const upstream of Object.values(hostile.upstreams)) {
        upstream.script = (socket) => reply(socket, { status, headers: [`Content-Type: ${type}`], body });
      }
      for (const stream of [false, true]) {
        const chat = { ...QUESTION_REQUEST.openai, model: "messages-m", stream };
        const compat = await raisedBy(hostile.clients.openai.chat.completions.create(chat));
        assert.deepEqual([compat.raised, compat.status], [raised, status]);
        assert.equal(compat.type, status === 400 ? "invalid_request_error" : "server_error");
        const message = { ...QUESTION_REQUEST.anthropic, max_tokens: 100, model: "compat-m", stream };
        const messages = await raisedBy(hostile.clients.anthropic.messages.create(message));
        assert.deepEqual([messages.raised, messages.status], [raised, status]);
        assert.equal(messages.type, status === 400 ? "invalid_request_error" : "api_error");
        for (const { message: text } of [compat, messages]) {
          assert.match(text, pattern);
          assert.doesNotMatch(text, /secret-of-the-page/);
        }
      }
    }
  });
}

test("an unreachable provider becomes an error of the client's dialect", async () => {
  for (const upstream of Object.values(hostile.upstreams)) upstream.script = (socket) => socket.resetAndDestroy();
  const { openai, anthropic } = hostile.clients;
  const compat = await raisedBy(openai.chat.completions.create({ ...QUESTION_REQUEST.openai, model: "messages-m" }));
  assert.deepEqual([compat.raised, compat.status, compat.code], ["InternalServerError", 502, "upstream_unreachable"]);
  const request = { ...QUESTION_REQUEST.anthropic, max_tokens: 100, model: "compat-m" };
  const messages = await raisedBy(anthropic.messages.create(request));
  assert.deepEqual([messages.raised, messages.status, messages.type], ["InternalServerError", 502, "api_error"]);
});
