import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import {
  DEFAULT_OUTPUT_BOUND,
  findRoute,
  IMAGE_TOKENS,
  type RequestBounds,
  tokenBounds,
} from "../../../../src/server/core/dialects/index.ts";

function bounds(path: string, body: unknown, indent?: number): RequestBounds {
  const route = findRoute("POST", path);
  assert.ok(route);
  const text = typeof body === "string" ? body : JSON.stringify(body, null, indent);
  return tokenBounds(Buffer.from(text), typeof body !== "string", route);
}

const CHAT = "/v1/chat/completions";
const outputOf = (path: string, body: unknown) => {
  const { output, hasOutputLimit } = bounds(path, body);
  return hasOutputLimit ? output : `${output} by default`;
};
const byDefault = `${DEFAULT_OUTPUT_BOUND} by default`;

test("the output limit is what the request allows, the largest of several names", () => {
  assert.equal(outputOf(CHAT, { model: "m", max_tokens: 50 }), 50);
  assert.equal(outputOf(CHAT, { max_completion_tokens: 70, messages: [], max_tokens: 50 }), 70);
  assert.equal(outputOf("/v1/responses", { max_output_tokens: 30 }), 30);
  assert.equal(outputOf("/v1/messages", { max_tokens: 0 }), 0);
  assert.equal(outputOf("/v1/complete", { max_tokens_to_sample: 40 }), 40);
  assert.equal(outputOf(CHAT, { model: "m" }), byDefault);
});

test("each requested answer may have the full length", () => {
  assert.equal(outputOf(CHAT, { max_tokens: 50, n: 3 }), 150);
  assert.equal(outputOf(CHAT, { max_tokens: 50, n: 0 }), 50);
  assert.equal(outputOf(CHAT, { n: 2 }), `${2 * DEFAULT_OUTPUT_BOUND} by default`);
  assert.equal(outputOf("/v1/completions", { max_tokens: 10, n: 2, best_of: 5, prompt: "x" }), 50);
  assert.equal(outputOf("/v1/completions", { max_tokens: 10, prompt: ["a, b", "[c]", 'd"e'], n: 2 }), 60);
  assert.equal(outputOf("/v1/completions", { max_tokens: 10, prompt: [[1, 2], [3]] }), 20);
  assert.equal(outputOf("/v1/completions", { max_tokens: 10, prompt: [1, 2, 3] }), 10);
  assert.equal(outputOf(CHAT, { max_tokens: 1e12, n: 1e12 }), 1e12);
});

test("a limit that is not a whole number is ignored", () => {
  for (const value of [-5, 1.5, "5", null, [5], { a: 5 }, 1e30, true]) {
    assert.equal(outputOf(CHAT, { max_tokens: value }), byDefault, JSON.stringify(value));
  }
});

test("names inside a text or below the top level limit nothing", () => {
  const text = 'say "max_tokens": 9, {"max_tokens": 9}';
  const tools = [{ parameters: { properties: { max_tokens: { type: "integer" }, n: 7 }, required: ["max_tokens"] } }];
  const body = { messages: [{ content: text, max_tokens: 9, input: { max_tokens: 9, n: 4 } }], tools };
  assert.equal(outputOf(CHAT, body), byDefault);
  assert.equal(outputOf(CHAT, { ...body, max_tokens: 5 }), 5);
  assert.equal(outputOf(CHAT, { max_tokens: 5, ...body }), 5);
  assert.equal(outputOf(CHAT, { reasoning: { max_tokens: 9 }, max_tokens: 5, ...body, n: 2 }), 10);
  const many = Array.from({ length: 1_500 }, () => ({ max_tokens: 9 }));
  assert.equal(outputOf(CHAT, { messages: many, max_tokens: 5, tools: many }), 5);
});

test("the output limit is found wherever the parsed object has it", () => {
  const names = fc.constantFrom("max_tokens", "max_completion_tokens", "n", "a", 'b"max_tokens', "best_of");
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.nat(99),
      fc.constantFrom("max_tokens", '"max_tokens":5', "\\", 'x\\"', "]}", null),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(names, tie("value"), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(fc.dictionary(names, value, { maxKeys: 6 }), fc.nat(2), (body, indent) => {
      const counts = [body["max_tokens"], body["max_completion_tokens"]].filter((each) => typeof each === "number");
      const answers = typeof body["n"] === "number" ? Math.max(1, body["n"]) : 1;
      const output = (counts.length === 0 ? DEFAULT_OUTPUT_BOUND : Math.max(...counts)) * answers;
      const found = bounds(CHAT, body, indent);
      assert.deepEqual([found.output, found.hasOutputLimit], [output, counts.length > 0]);
    }),
    { numRuns: 2_000, verbose: true },
  );
});

test("routes without text answers have no output, and routes without usage have no bounds", () => {
  for (const path of ["/v1/embeddings", "/v1/moderations", "/v1/rerank"]) {
    assert.equal(outputOf(path, { model: "m", input: "hello", max_tokens: 9 }), 0, path);
    assert.ok(bounds(path, { model: "m", input: "hello" }).input > 5, path);
  }
  for (const path of ["/v1/messages/count_tokens", "/v1/responses/input_tokens", "/v1/files", "/v1/batches"]) {
    assert.deepEqual(bounds(path, { model: "m", input: "hello" }), { input: 0, output: 0, hasOutputLimit: true }, path);
  }
});

test("a text has at most as many tokens as bytes", () => {
  const body = { messages: [{ role: "user", content: "héllo".repeat(2_000) }] };
  assert.equal(bounds(CHAT, body).input, Buffer.byteLength(JSON.stringify(body)));
});

const base64 = (beginning: readonly number[], bytes: number) =>
  Buffer.concat([Buffer.from(beginning), Buffer.alloc(bytes, "\x12\xab\x57\x99\xf1")]).toString("base64");
const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const PDF = [0x25, 0x50, 0x44, 0x46, 0x2d];
const WAVE = [0x52, 0x49, 0x46, 0x46, 1, 2, 3, 4, 0x57, 0x41, 0x56, 0x45];
const WEBP = [0x52, 0x49, 0x46, 0x46, 1, 2, 3, 4, 0x57, 0x45, 0x42, 0x50];

const user = (...content: readonly unknown[]) => ({ messages: [{ role: "user", content }] });
const url = (data: string, type: string) => ({ type: "image_url", image_url: { url: `data:${type};base64,${data}` } });
/** The rest of the body is under 400 bytes. */
function assertMedia(path: string, body: unknown, expected: number, indent?: number): void {
  const rest = bounds(path, body, indent).input - expected;
  assert.ok(rest >= 0 && rest < 400, `${path}: ${rest} beside ${expected}`);
}

test("an image counts as an image, however large, in every place of both dialects", () => {
  const image = base64(PNG, 1 << 20);
  const cases: readonly (readonly [string, unknown])[] = [
    [CHAT, user(url(image, "image/png"))],
    [CHAT, user(url(base64(WEBP, 1 << 20), "image/webp"))],
    ["/v1/messages", user({ type: "image", source: { type: "base64", media_type: "image/png", data: image } })],
    ["/v1/responses", { input: [{ content: [{ type: "input_image", image_url: `data:image/png;base64,${image}` }] }] }],
  ];
  for (const [path, body] of cases) {
    assertMedia(path, body, IMAGE_TOKENS);
    assertMedia(path, body, IMAGE_TOKENS, 2);
  }
  assertMedia(CHAT, user(url(image, "image/png"), url(image, "image/png")), 2 * IMAGE_TOKENS);
  const escaped = JSON.stringify(user(url(image, "image/png"))).replaceAll("/", "\\/");
  const route = findRoute("POST", CHAT);
  assert.ok(route);
  assert.ok(tokenBounds(Buffer.from(escaped), true, route).input < 2 * IMAGE_TOKENS);
});

test("audio and documents count by their bytes, each at its own rate", () => {
  const bytes = 600_000;
  const audio = { type: "input_audio", input_audio: { data: base64(WAVE, bytes), format: "wav" } };
  assertMedia(CHAT, user(audio), 10_000);
  const file = `data:application/pdf;base64,${base64(PDF, bytes)}`;
  assertMedia(CHAT, user({ type: "file", file: { filename: "a.pdf", file_data: file } }), 154_800);
  const source = { type: "base64", media_type: "application/pdf", data: base64(PDF, bytes) };
  assertMedia("/v1/messages", user({ type: "document", source }), 154_800);
  const table = `data:text/csv;base64,${base64([], bytes)}`;
  assertMedia(CHAT, user({ type: "file", file: { filename: "a.csv", file_data: table } }), 600_000);
});

test("base64 that is text to the model counts as text", () => {
  const image = base64(PNG, 100_000);
  const texts: readonly unknown[] = [
    { messages: [{ role: "user", content: image }] },
    { messages: [{ role: "user", content: `data:image/png;base64,${image}` }] },
    { messages: [{ role: "tool", content: JSON.stringify({ data: image }) }] },
    user({ type: "text", text: image }),
    user({ type: "document", source: { type: "text", data: `${"plain words ".repeat(9_000)}` } }),
    { messages: [{ role: "user", content: "x".repeat(100_000) }] },
  ];
  for (const body of texts) assert.equal(bounds("/v1/messages", body).input, JSON.stringify(body).length);
});

test("images fetched by the provider count as images", () => {
  const address = "https://example.com/a.png";
  assertMedia(CHAT, user({ type: "image_url", image_url: { url: address } }), IMAGE_TOKENS);
  assertMedia(CHAT, user({ type: "image_url", image_url: { detail: "low", url: address } }), IMAGE_TOKENS);
  assertMedia("/v1/responses", { input: [{ type: "input_image", image_url: address }] }, IMAGE_TOKENS);
  assertMedia("/v1/messages", user({ type: "image", source: { type: "url", url: address } }), IMAGE_TOKENS);
  assertMedia("/v1/messages", user({ type: "tool_use", input: { url: address } }), 0);
});

test("a form counts its files as audio or images, whichever is more, and its text", () => {
  const part = (head: string, body: string) => `--XX\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`;
  const audio = `${part('name="file"; filename="a.mp3"', "\x01".repeat(6_000_000))}--XX--\r\n`;
  const result = bounds("/v1/audio/transcriptions", audio).input;
  assert.ok(result >= 100_000 && result < 140_000, String(result));
  const image = part('name="image[]"; filename="a.png"', "\x01".repeat(20_000));
  const seen = bounds("/v1/images/edits", `${image}${image}--XX--\r\n`).input;
  assert.ok(seen >= 2 * IMAGE_TOKENS && seen < 2 * IMAGE_TOKENS + 40_000, String(seen));
  assert.ok(bounds("/v1/images/edits", `${part('name="prompt"', "hello")}--XX--\r\n`).input < 100);
});

test("bytes that are not JSON still give bounds", () => {
  const route = findRoute("POST", CHAT);
  assert.ok(route);
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('"max_tokens"', ":", "5", '"', "\\", "{", "}", ",", "[", "a".repeat(1_100))),
      (parts) => {
        const { input, output } = tokenBounds(Buffer.from(parts.join("")), true, route);
        assert.ok(Number.isSafeInteger(input) && input >= 0 && Number.isSafeInteger(output) && output >= 0);
      },
    ),
    { verbose: true },
  );
});
