import assert from "node:assert/strict";
import test from "node:test";
import { findRoute, isForBatch, ROUTE_NAMES, routeExamples } from "../../../../../src/server/core/dialects/index.ts";

test("every row is found by its example, and every name has a row", () => {
  const examples = routeExamples();
  for (const { method, path, name } of examples) assert.equal(findRoute(method, path)?.name, name, `${method} ${path}`);
  assert.deepEqual(new Set(examples.map(({ name }) => name)), new Set(ROUTE_NAMES));
});

test("GET routes match HEAD too", () => {
  const read = routeExamples().filter(({ method }) => method === "GET");
  assert.ok(read.length > 10);
  for (const { path } of read) assert.equal(findRoute("HEAD", path), findRoute("GET", path), path);
});

test("answers of generating routes report usage, and those of stored objects do not", () => {
  const usageOf = (method: string, path: string) => findRoute(method, path)?.usage;
  for (const path of ["/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses", "/v1/messages"]) {
    assert.equal(usageOf("POST", path), "always", path);
  }
  for (const path of ["/v1/images/generations", "/v1/audio/transcriptions", "/v1/rerank", "/v1/anything"]) {
    assert.equal(usageOf("POST", path), "maybe", path);
  }
  for (const path of [
    "/v1/models",
    "/v1/responses/resp_1",
    "/v1/batches",
    "/v1/files/file_1",
    "/v1/threads/t/runs/r",
  ]) {
    assert.equal(usageOf("GET", path), "none", path);
  }
  assert.equal(usageOf("POST", "/v1/messages/count_tokens"), "none");
});

test("routes with unreadable texts are separated from those that only hide models", () => {
  const hidesTexts = (method: string, path: string) => findRoute(method, path)?.hidesTexts;
  for (const [method, path] of [
    ["POST", "/v1/batches"],
    ["POST", "/v1/batch/jobs"],
    ["GET", "/v1/batches/b"],
    ["POST", "/v1/messages/batches"],
    ["GET", "/v1/messages/batches/b/results"],
    ["POST", "/v1/fine_tuning/jobs"],
    ["POST", "/v1/fine_tuning/alpha/graders/run"],
    ["POST", "/v1/fine-tunes"],
    ["POST", "/v1/evals"],
    ["POST", "/v1/evals/e/runs"],
    ["POST", "/v1/realtime/client_secrets"],
    ["POST", "/v1/realtime/sessions"],
    ["POST", "/v1/realtime/transcription_sessions"],
    ["POST", "/v1/realtime/translations/client_secrets"],
    ["POST", "/v1/realtime/calls"],
    ["POST", "/v1/realtime/calls/c/accept"],
    ["POST", "/v1/chatkit/sessions"],
  ] as const) {
    assert.equal(hidesTexts(method, path), true, `${method} ${path}`);
  }
  for (const [method, path] of [
    ["POST", "/v1/threads/runs"],
    ["POST", "/v1/threads/t/messages"],
    ["POST", "/v1/videos/v/remix"],
    ["POST", "/v1/files"],
    ["POST", "/v1/uploads/u/parts"],
    ["POST", "/v1/vector_stores/v/file_batches"],
    ["POST", "/v1/containers/c/files"],
    ["GET", "/v1/files/f/content"],
    ["GET", "/v1/evals/e/runs/r/output_items"],
    ["UPGRADE", "/v1/realtime"],
  ] as const) {
    assert.equal(hidesTexts(method, path), false, `${method} ${path}`);
  }
});

test("routes that hide a model or a credential are guarded", () => {
  const guardOf = (method: string, path: string) => findRoute(method, path)?.guard;
  const hidden: readonly (readonly [string, string])[] = [
    ["POST", "/v1/batches"],
    ["POST", "/v1/batches/b/cancel"],
    ["POST", "/v1/messages/batches"],
    ["GET", "/v1/messages/batches/b/results"],
    ["POST", "/v1/fine_tuning/jobs"],
    ["POST", "/v1/fine_tuning/alpha/graders/run"],
    ["POST", "/v1/threads/runs"],
    ["POST", "/v1/threads/t/runs"],
    ["POST", "/v1/evals/e/runs"],
    ["POST", "/v1/videos/v/remix"],
    ["POST", "/v1/realtime/calls"],
  ];
  for (const [method, path] of hidden) assert.equal(guardOf(method, path), "hides_models", path);
  for (const path of [
    "/v1/realtime/client_secrets",
    "/v1/realtime/sessions",
    "/v1/realtime/transcription_sessions",
    "/v1/chatkit/sessions",
  ]) {
    assert.equal(guardOf("POST", path), "grants_credential", path);
  }
  for (const path of ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/files", "/v1/vector_stores"]) {
    assert.equal(guardOf("POST", path), "open", path);
  }
  assert.equal(guardOf("UPGRADE", "/v1/realtime"), "open");
});

const form = (purpose: string, head = 'name="purpose"') =>
  Buffer.from(
    `--XX\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\npurpose=user_data\r\n` +
      `--XX\r\nContent-Disposition: form-data; ${head}\r\n\r\n${purpose}\r\n--XX--\r\n`,
  );

test("a batch file is recognized by its purpose, and an unreadable form counts as one", () => {
  const contentType = "multipart/form-data; boundary=XX";
  const ask = (plain: Buffer, path = "/v1/files", type = contentType, query = "") => {
    const route = findRoute("POST", path);
    assert.ok(route);
    return isForBatch({ route, plain, contentType: type, query });
  };
  assert.equal(ask(form("batch")), true);
  assert.equal(ask(form("Batch ")), true);
  assert.equal(ask(form("user_data")), false);
  assert.equal(ask(form("batch", "name=purpose")), true);
  assert.equal(ask(form("user_data", 'name="Purpose"')), true);
  assert.equal(ask(form("user_data", 'name="purpose"\r\nContent-Transfer-Encoding: base64')), true);
  assert.equal(ask(form('"batch"')), true);
  assert.equal(ask(form("user_data"), "/v1/files", contentType, "?purpose=batch"), true);
  assert.equal(
    ask(Buffer.from('{"purpose":"x","a":"&purpose=batch&"}'), "/v1/files", "application/x-www-form-urlencoded"),
    true,
  );
  assert.equal(ask(form("x", 'name="other"')), false);
  assert.equal(ask(form("user_data").subarray(0, 150)), true);
  assert.equal(ask(form("user_data"), "/v1/files", "text/plain"), true);
  const json = (value: unknown) => Buffer.from(JSON.stringify(value));
  assert.equal(ask(json({ purpose: "batch" }), "/v1/uploads", "application/json"), true);
  assert.equal(ask(json({ purpose: ["batch"] }), "/v1/uploads", "application/json"), true);
  assert.equal(ask(json({ purpose: "assistants" }), "/v1/uploads", "application/json"), false);
  assert.equal(ask(Buffer.from('{"purpose":"x","purpose":"batch"}'), "/v1/uploads", "application/json"), true);
  assert.equal(ask(Buffer.alloc(0)), false);
  assert.equal(ask(form("batch"), "/v1/images/edits"), false);
});
