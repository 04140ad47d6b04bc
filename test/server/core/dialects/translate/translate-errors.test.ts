import assert from "node:assert/strict";
import test from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import fc from "fast-check";
import OpenAI from "openai";
import {
  translateError,
  translateErrorEvent,
} from "../../../../../src/server/core/dialects/translate/translate-errors.ts";

interface MessagesBody {
  readonly type: string;
  readonly error: { readonly type: string; readonly message: string; readonly details?: object };
  readonly request_id: string;
}

interface CompatBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string | null;
  };
}

const requestId = "req_1";
const NO_HEADERS = new Headers();

/** Dialects reference, 10.1, and the first column of 10.2. */
const BY_STATUS: readonly (readonly [status: number, compatType: string, messagesType: string])[] = [
  [400, "invalid_request_error", "invalid_request_error"],
  [401, "invalid_request_error", "authentication_error"],
  [401, "authentication_error", "authentication_error"],
  [402, "insufficient_quota", "billing_error"],
  [403, "invalid_request_error", "permission_error"],
  [404, "invalid_request_error", "not_found_error"],
  [409, "conflict", "conflict_error"],
  [413, "invalid_request_error", "request_too_large"],
  [422, "unprocessable", "invalid_request_error"],
  [429, "tokens", "rate_limit_error"],
  [429, "requests", "rate_limit_error"],
  [429, "insufficient_quota", "rate_limit_error"],
  [500, "server_error", "api_error"],
  [503, "service_unavailable_error", "overloaded_error"],
  [504, "timeout", "timeout_error"],
  [529, "server_error", "overloaded_error"],
  [502, "rate_limit_error", "api_error"],
  [599, "invalid_request_error", "api_error"],
  [408, "timeout", "invalid_request_error"],
  [418, "authentication_error", "invalid_request_error"],
];

for (const [status, type, expected] of BY_STATUS) {
  test(`${status} with ${type} is ${expected} to a messages client, by its status`, () => {
    const body = JSON.stringify({ error: { message: "It failed.", type, param: null, code: null } });
    const translated = translateError("messages", { status, body, requestId });
    const error = { type: expected, message: "It failed." };
    assert.deepEqual(translated.status, status);
    assert.deepEqual(JSON.parse(translated.body), { type: "error", error, request_id: requestId });
  });
}

/** Dialects reference, 10.1, and the second column of 10.2. */
const BY_TYPE: readonly (readonly [messagesType: string, status: number, type: string, code: string | null])[] = [
  ["invalid_request_error", 400, "invalid_request_error", null],
  ["authentication_error", 401, "invalid_request_error", "invalid_api_key"],
  ["billing_error", 402, "insufficient_quota", "insufficient_quota"],
  ["permission_error", 403, "invalid_request_error", "permission_denied"],
  ["not_found_error", 404, "invalid_request_error", "model_not_found"],
  ["conflict_error", 409, "invalid_request_error", "conflict"],
  ["request_too_large", 413, "invalid_request_error", null],
  ["invalid_request_error", 422, "invalid_request_error", null],
  ["rate_limit_error", 429, "rate_limit_error", "rate_limit_exceeded"],
  ["api_error", 500, "server_error", null],
  ["api_error", 503, "server_error", null],
  ["timeout_error", 504, "server_error", null],
  ["overloaded_error", 529, "service_unavailable_error", "server_is_overloaded"],
];

for (const [messagesType, status, type, code] of BY_TYPE) {
  test(`${messagesType} with ${status} is ${type} to a compat client, by its type`, () => {
    const error = { type: messagesType, message: "It failed." };
    const body = JSON.stringify({ type: "error", error, request_id: "req_upstream" });
    const translated = translateError("compat", { status, body, requestId });
    assert.equal(translated.status, status);
    assert.deepEqual(JSON.parse(translated.body), { error: { message: "It failed.", type, param: null, code } });
  });

  test(`${messagesType} within a stream is ${type} to a compat client`, () => {
    const data = { type: "error", error: { type: messagesType, message: "It failed." } };
    const frame = translateErrorEvent("compat", data, requestId);
    const body = { error: { message: "It failed.", type, param: null, code } };
    assert.equal(frame, `data: ${JSON.stringify(body)}\n\n`);
  });
}

test("a type outside the messages dialect is mapped to a compat error by its status", () => {
  for (const [status, type, code] of [
    [401, "invalid_request_error", "invalid_api_key"],
    [429, "rate_limit_error", "rate_limit_exceeded"],
    [503, "service_unavailable_error", "server_is_overloaded"],
    [529, "service_unavailable_error", "server_is_overloaded"],
    [502, "server_error", null],
    [418, "invalid_request_error", null],
  ] as const) {
    for (const unknown of ["strange_error", 7, null, undefined, "__proto__", "constructor"]) {
      const body = JSON.stringify({ type: "error", error: { type: unknown, message: "It failed." } });
      const translated = translateError("compat", { status, body, requestId });
      assert.deepEqual(JSON.parse(translated.body), { error: { message: "It failed.", type, param: null, code } });
    }
  }
});

test("a messages client sees code and field of a compat error, and a compat client the field", () => {
  const toMessages = (error: object) =>
    (JSON.parse(translated("messages", 400, { error: { message: "No.", ...error } })) as MessagesBody).error.details;
  assert.deepEqual(toMessages({ code: "context_length_exceeded", param: "messages[0].content" }), {
    error_code: "context_length_exceeded",
    param: "messages[0].content",
  });
  assert.deepEqual(toMessages({ code: "insufficient_quota", param: null }), { error_code: "insufficient_quota" });
  assert.deepEqual(toMessages({ code: null, param: "tools" }), { param: "tools" });
  for (const none of [{}, { code: 400 }, { code: "two words" }, { code: "x".repeat(129) }, { code: "", param: {} }]) {
    assert.equal(toMessages(none), undefined);
  }
  const error = { type: "invalid_request_error", message: "No.", details: { error_code: "x", param: "tools[1]" } };
  const toCompat = JSON.parse(translated("compat", 400, { type: "error", error })) as CompatBody;
  assert.equal(toCompat.error.param, "tools[1]");
});

test("a client of responses sees code, field and type of a chat provider's error", () => {
  for (const [status, error, shown] of [
    [
      400,
      { type: "invalid_request_error", code: "context_length_exceeded", param: "messages" },
      ["invalid_request_error", "messages", "context_length_exceeded"],
    ],
    [
      401,
      { type: "invalid_request_error", code: "invalid_api_key", param: null },
      ["invalid_request_error", null, "invalid_api_key"],
    ],
    [429, { type: "insufficient_quota", code: null }, ["insufficient_quota", null, "insufficient_quota"]],
    [429, { type: "tokens", code: 429 }, ["rate_limit_error", null, "rate_limit_exceeded"]],
    [400, { type: "invalid_request_error", code: "two words" }, ["invalid_request_error", null, null]],
  ] as const) {
    const { error: found } = JSON.parse(
      translated("compat", status, { error: { message: "No.", ...error } }),
    ) as CompatBody;
    assert.deepEqual([found.type, found.param, found.code], shown);
  }
});

test("a conversation that is too long gets the code even if the provider only wrote it in the message", () => {
  const error = { type: "invalid_request_error", message: "prompt is too long: 210000 tokens > 200000 maximum" };
  const parsed = JSON.parse(translated("compat", 400, { type: "error", error })) as CompatBody;
  assert.deepEqual(parsed.error, {
    message: error.message,
    type: error.type,
    param: null,
    code: "context_length_exceeded",
  });
});

const ENVELOPES: readonly (readonly [what: string, body: string, message: string])[] = [
  ["a compat envelope", '{"error":{"message":"Why.","type":"t","param":null,"code":null}}', "Why."],
  ["a messages envelope", '{"type":"error","error":{"type":"t","message":"Why."},"request_id":"r"}', "Why."],
  ["a bare text as the error", '{"error":"Why."}', "Why."],
  ["a bare text as the body", '"Why."', "Why."],
  ["a detail", '{"detail":"Why."}', "Why."],
  ["details of fields", '{"detail":[{"loc":["body","model"],"msg":"Why.","type":"missing"}]}', "Why."],
  ["a detail that contains an error", '{"detail":{"error":{"message":"Why."}}}', "Why."],
  ["a message", '{"message":"Why.","code":7}', "Why."],
  ["a message next to an error without one", '{"error":true,"message":"Why."}', "Why."],
  ["a message in a format of its own", '{"object":"error","message":"Why.","type":"t"}', "Why."],
  ["a list of errors", '[{"error":{"code":400,"message":"Why.","status":"INVALID_ARGUMENT"}}]', "Why."],
  ["a message of several lines", '{"error":{"message":"  Why\\u0000\\r\\n\\tso.\\u001b\\u2028"}}', "Why so."],
  ["half a surrogate pair", '{"error":{"message":"Why\\ud800."}}', "Why\ufffd."],
];

for (const [what, body, message] of ENVELOPES) {
  test(`the message is read from ${what}`, () => {
    for (const to of ["compat", "messages"] as const) {
      const shown = JSON.parse(translateError(to, { status: 400, body, requestId }).body) as CompatBody | MessagesBody;
      assert.equal(shown.error.message, message);
      const frame = translateErrorEvent(to, JSON.parse(body), requestId);
      const parsed = JSON.parse(frame.slice(frame.indexOf("{"))) as CompatBody | MessagesBody;
      assert.equal(parsed.error.message, message);
    }
  });
}

test("a body without a message, or a web page, is not shown", () => {
  const bodies = [
    "<!DOCTYPE html><html><title>secret</title>",
    "upstream connect error: secret",
    '{"error":{"message":"cut',
    "",
    "null",
    "7",
    "[]",
    "{}",
    '{"error":null}',
    '{"error":{"type":"secret"}}',
    '{"error":{"message":["\\u0000"]}}',
    '{"secret":{"message":"secret"}}',
    '{"error":{"error":{"error":{"error":{"error":"secret"}}}}}',
  ];
  for (const body of bodies) {
    const toMessages = JSON.parse(translateError("messages", { status: 502, body, requestId }).body) as MessagesBody;
    const message = "The provider answered with status 502 and no message that can be shown.";
    assert.deepEqual(toMessages.error, { type: "api_error", message }, body);
    const toCompat = JSON.parse(translateError("compat", { status: 502, body, requestId }).body) as CompatBody;
    assert.deepEqual(toCompat, { error: { message, type: "server_error", param: null, code: null } });
  }
  assert.match(translateErrorEvent("messages", {}, requestId), /"The provider ended its answer with an error\."/);
});

test("a message is truncated at 4 KiB, between characters", () => {
  fc.assert(
    fc.property(
      fc.constantFrom("a", "é", "漢", "🌊", "a🌊", "\n"),
      fc.nat(3),
      fc.integer({ min: 1_000, max: 9_000 }),
      (unit, pad, count) => {
        const message = `${"x".repeat(pad)}${unit.repeat(count)}end`;
        const { error } = JSON.parse(translated("compat", 400, { error: { message } })) as CompatBody;
        assert.ok(Buffer.byteLength(error.message) <= 4_096);
        assert.ok(error.message.isWellFormed() && !error.message.includes("\ufffd"));
        if (Buffer.byteLength(message) > 4_096 && unit !== "\n") {
          assert.ok(Buffer.byteLength(error.message) > 4_089);
          assert.ok(error.message.endsWith("…") && message.startsWith(error.message.slice(0, -1)));
        }
      },
    ),
    { verbose: true },
  );
});

const EVENTS: readonly (readonly [data: unknown, messagesType: string])[] = [
  [{ error: { message: "m", type: "server_error", code: null } }, "api_error"],
  [{ error: { message: "m", type: "rate_limit_error", code: "rate_limit_exceeded" } }, "rate_limit_error"],
  [{ error: { message: "m", type: "tokens", code: "rate_limit_exceeded" } }, "rate_limit_error"],
  [{ error: { message: "m", type: "insufficient_quota" } }, "billing_error"],
  [{ error: { message: "m", type: "service_unavailable_error" } }, "overloaded_error"],
  [{ error: { message: "m", type: "invalid_request_error" } }, "invalid_request_error"],
  [{ error: { message: "m", type: "authentication_error" } }, "authentication_error"],
  [{ error: { message: "m", type: "timeout" } }, "timeout_error"],
  [{ error: { message: "m", code: 429 } }, "rate_limit_error"],
  [{ error: { message: "m", status: 503 } }, "overloaded_error"],
  [{ error: { message: "m", code: 200, status: "INTERNAL" } }, "api_error"],
  [{ error: "m" }, "api_error"],
  ["m", "api_error"],
];

for (const [data, type] of EVENTS) {
  test(`the event ${JSON.stringify(data)} is ${type} to a messages client`, () => {
    const frame = translateErrorEvent("messages", data, requestId);
    const start = "event: error\ndata: ";
    assert.ok(frame.startsWith(start) && frame.endsWith("\n\n"));
    const body = JSON.parse(frame.slice(start.length)) as MessagesBody;
    assert.deepEqual(
      [body.type, body.error.type, body.error.message, body.request_id],
      ["error", type, "m", requestId],
    );
  });
}

test("whatever a provider sends, the client gets an error of its dialect on one line", () => {
  const anything = fc.jsonValue();
  const errorLike = fc.record({
    type: anything,
    message: anything,
    code: anything,
    param: anything,
    details: anything,
  });
  const values = fc.oneof(
    anything,
    errorLike,
    fc.record({ error: fc.oneof(errorLike, anything) }),
    fc.array(fc.record({ error: errorLike }), { maxLength: 2 }),
  );
  fc.assert(
    fc.property(values, fc.integer({ min: 400, max: 599 }), (data, status) => {
      for (const to of ["compat", "messages"] as const) {
        const { body } = translateError(to, { status, body: JSON.stringify(data), requestId });
        assertEnvelope(to, body);
        const frame = translateErrorEvent(to, data, requestId);
        const start = to === "messages" ? "event: error\ndata: " : "data: ";
        const line = frame.slice(start.length, -2);
        assert.equal(frame, `${start}${line}\n\n`);
        assert.ok(!/[\r\n]/.test(line));
        assertEnvelope(to, line);
      }
    }),
    { numRuns: 1_000, verbose: true },
  );
});

test("the official clients raise their typed errors from the translated ones", () => {
  const compat = JSON.parse(
    translated("compat", 529, { type: "error", error: { type: "overloaded_error", message: "m" } }),
  );
  const raised = OpenAI.APIError.generate(529, compat as object, undefined, NO_HEADERS);
  assert.ok(raised instanceof OpenAI.InternalServerError);
  assert.deepEqual(
    [raised.message, raised.type, raised.code],
    ["529 m", "service_unavailable_error", "server_is_overloaded"],
  );

  const messages = JSON.parse(translated("messages", 429, { error: { message: "m", code: "insufficient_quota" } }));
  const thrown = Anthropic.APIError.generate(429, messages as object, undefined, NO_HEADERS);
  assert.ok(thrown instanceof Anthropic.RateLimitError);
  assert.equal(thrown.type, "rate_limit_error");
});

const translated = (to: "compat" | "messages", status: number, body: unknown): string =>
  translateError(to, { status, body: JSON.stringify(body), requestId }).body;

const MESSAGES_TYPES = new Set(BY_TYPE.map(([type]) => type));

function assertEnvelope(to: "compat" | "messages", text: string): void {
  if (to === "messages") {
    const body = JSON.parse(text) as MessagesBody;
    assert.deepEqual(Object.keys(body), ["type", "error", "request_id"]);
    assert.ok(MESSAGES_TYPES.has(body.error.type));
    assert.ok(body.error.message !== "" && typeof body.error.message === "string");
    return;
  }
  const { error } = JSON.parse(text) as CompatBody;
  assert.deepEqual(Object.keys(error), ["message", "type", "param", "code"]);
  assert.ok(typeof error.type === "string" && error.message !== "" && typeof error.message === "string");
}
