/** Files, batches and vector stores: both official SDKs upload, poll, read and delete them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { toFile as anthropicFile } from "@anthropic-ai/sdk";
import OpenAI, { toFile } from "openai";
import { createBoundedStore } from "../../src/simulator/stored/bounded-store.ts";
import { anthropic, openai, post, simulator } from "./clients.ts";

const CHAT = { model: "sim-small", messages: [{ role: "user" as const, content: "Hello!" }] };
const MESSAGE = { ...CHAT, max_tokens: 1_000 };

interface Line {
  readonly custom_id?: unknown;
  readonly method?: unknown;
  readonly url?: unknown;
  readonly body?: unknown;
}

const lineOf = (custom_id: string, body: unknown, url = "/v1/chat/completions"): Line => ({
  custom_id,
  method: "POST",
  url,
  body,
});

const jsonLines = (values: readonly unknown[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join("");

async function upload(client: OpenAI, text: string, purpose: "batch" | "assistants" = "batch") {
  return await client.files.create({ file: await toFile(Buffer.from(text), "a.jsonl"), purpose });
}

/** Polls as users of the SDK do, until nothing changes any more. */
async function polled(client: OpenAI, id: string, seen: string[] = []): Promise<OpenAI.Batch> {
  for (;;) {
    const batch = await client.batches.retrieve(id);
    seen.push(batch.status);
    if (["completed", "failed", "expired", "cancelled"].includes(batch.status)) return batch;
  }
}

async function runLines(client: OpenAI, text: string, endpoint: OpenAI.BatchCreateParams["endpoint"]) {
  const { id } = await upload(client, text);
  const made = await client.batches.create({ input_file_id: id, endpoint, completion_window: "24h" });
  return await polled(client, made.id);
}

async function linesOf(client: OpenAI, id: string | null | undefined) {
  const text = await (await client.files.content(id ?? "")).text();
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

test("a batch of chats is validated, answered and read from its two files", async (t) => {
  const client = openai(await simulator(t));
  const alone = await client.chat.completions.create(CHAT);
  const requests = [
    lineOf("good", CHAT),
    lineOf("status", { ...CHAT, model: "sim-429" }),
    lineOf("strict", { ...CHAT, nonsense: 1 }),
    lineOf("streamed", { ...CHAT, stream: true }),
    lineOf("unnamed", { messages: CHAT.messages }),
    lineOf("dropped", { ...CHAT, model: "sim-drop" }),
  ];
  const input = await upload(client, jsonLines(requests));
  const metadata = { team: "a" };
  const made = await client.batches.create({
    input_file_id: input.id,
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
    metadata,
  });
  const seen = [made.status as string];
  const done = await polled(client, made.id, seen);
  assert.deepEqual(seen, ["validating", "in_progress", "completed"]);
  assert.deepEqual(done.request_counts, { total: 6, completed: 2, failed: 4 });
  assert.deepEqual(done.metadata, metadata);
  const good = await linesOf(client, done.output_file_id);
  assert.deepEqual(
    good.map((line) => [line.custom_id, line.response.status_code, line.error]),
    [
      ["good", 200, null],
      ["dropped", 200, null],
    ],
  );
  assert.deepEqual(good[0].response.body.choices, alone.choices);
  const bad = await linesOf(client, done.error_file_id);
  assert.deepEqual(
    bad.map((line) => [line.custom_id, line.response.status_code, line.response.body.error.param]),
    [
      ["status", 429, null],
      ["strict", 400, null],
      ["streamed", 400, "stream"],
      ["unnamed", 400, "model"],
    ],
  );
  const listed = await client.batches.list();
  assert.deepEqual(listed.data, [done]);
  await assert.rejects(client.batches.cancel(made.id), { status: 409 });
});

test("each batch endpoint answers like its own route", async (t) => {
  const client = openai(await simulator(t));
  const bodies = {
    "/v1/responses": { model: "m", input: "x" },
    "/v1/chat/completions": CHAT,
    "/v1/embeddings": { model: "m", input: "x" },
    "/v1/completions": { model: "m", prompt: "x" },
    "/v1/moderations": { input: "x" },
    "/v1/images/generations": { prompt: "x" },
  } as const;
  for (const [endpoint, body] of Object.entries(bodies)) {
    const text = jsonLines([lineOf("a", body, endpoint)]);
    const done = await runLines(client, text, endpoint as keyof typeof bodies);
    assert.deepEqual(done.request_counts, { total: 1, completed: 1, failed: 0 }, endpoint);
  }
});

const REFUSED_FILES: readonly (readonly [name: string, text: string, code: string, line: number | null])[] = [
  ["an empty file", "", "empty_file", null],
  ["a line that is no JSON", `${jsonLines([lineOf("a", CHAT)])}{`, "invalid_json_line", 2],
  ["a line that is no object", "[]\n", "invalid_json_line", 1],
  ["two equal ids", jsonLines([lineOf("a", CHAT), lineOf("a", CHAT)]), "duplicate_custom_id", 2],
  ["no id", jsonLines([{ ...lineOf("a", CHAT), custom_id: undefined }]), "missing_required_parameter", 1],
  ["no body", jsonLines([lineOf("a", "text")]), "missing_required_parameter", 1],
  ["another method", jsonLines([{ ...lineOf("a", CHAT), method: "GET" }]), "invalid_method", 1],
  ["another url", jsonLines([lineOf("a", CHAT, "/v1/embeddings")]), "invalid_url", 1],
];

test("a batch of an unreadable file fails with the line and the reason", async (t) => {
  const client = openai(await simulator(t));
  for (const [name, text, code, line] of REFUSED_FILES) {
    const failed = await runLines(client, text, "/v1/chat/completions");
    assert.equal(failed.status, "failed", name);
    assert.deepEqual(
      failed.errors?.data?.map((error) => [error.code, error.line]),
      [[code, line]],
      name,
    );
    assert.equal(failed.output_file_id, null);
  }
});

test("a batch without its file, purpose, window or known endpoint is refused, and a batch can be canceled", async (t) => {
  const started = await simulator(t);
  const client = openai(started);
  const { id } = await upload(client, jsonLines([lineOf("a", CHAT)]));
  const other = await upload(client, "x", "assistants");
  const body = { input_file_id: id, endpoint: "/v1/chat/completions", completion_window: "24h" } as const;
  const refused: readonly (readonly [object, object])[] = [
    [
      { ...body, input_file_id: "file-none" },
      { status: 404, param: "input_file_id" },
    ],
    [
      { ...body, input_file_id: other.id },
      { status: 400, param: "input_file_id" },
    ],
    [
      { ...body, completion_window: "1h" },
      { status: 400, param: "completion_window" },
    ],
    [
      { ...body, endpoint: "/v1/nonsense" },
      { status: 400, param: "endpoint" },
    ],
    [{ ...body, nonsense: 1 }, { status: 400 }],
    [{ input_file_id: id }, { status: 400, param: "endpoint" }],
  ];
  for (const [request, expected] of refused) {
    await assert.rejects(client.batches.create(request as OpenAI.BatchCreateParams), expected, JSON.stringify(request));
  }
  await assert.rejects(client.batches.retrieve("batch_none"), { status: 404 });
  const made = await client.batches.create(body);
  assert.equal((await client.batches.cancel(made.id)).status, "cancelling");
  assert.equal((await polled(client, made.id)).status, "cancelled");
  await post(`${started.url}/sim/reset`, {});
  await assert.rejects(client.batches.retrieve(made.id), { status: 404 });
});

test("files are listed in pages, read back byte for byte, and deleted", async (t) => {
  const started = await simulator(t);
  const client = openai(started);
  const ids: string[] = [];
  for (const text of ["one", "two", "three"]) ids.unshift((await upload(client, text)).id);
  const found: string[] = [];
  for await (const { id } of client.files.list({ limit: 2 })) found.push(id);
  assert.deepEqual(found, ids);
  const oldest = await client.files.list({ order: "asc", purpose: "batch", limit: 1 });
  assert.equal(oldest.data[0]?.id, ids.at(-1));
  assert.equal((await client.files.list({ purpose: "assistants" })).data.length, 0);
  const [id = ""] = ids;
  assert.deepEqual((await client.files.retrieve(id)).bytes, 5);
  assert.equal(await (await client.files.content(id)).text(), "three");
  assert.deepEqual(await client.files.delete(id), { id, object: "file", deleted: true });
  for (const gone of [client.files.retrieve(id), client.files.content(id), client.files.delete(id)]) {
    await assert.rejects(gone, { status: 404 });
  }
  await assert.rejects(client.files.list({ limit: 0 }), { status: 400 });
  const file = await toFile(Buffer.from("x"), "a");
  await assert.rejects(client.files.create({ file, purpose: "nonsense" as "batch" }), { param: "purpose" });
  const form = new FormData();
  form.append("file", new Blob(["x"]), "a");
  const unnamed = await fetch(`${started.url}/v1/files`, { method: "POST", body: form });
  assert.equal(unnamed.status, 400);
});

test("files of the messages dialect are separate, and uploads cannot be downloaded", async (t) => {
  const started = await simulator(t);
  const { files } = anthropic(started).beta;
  const ids: string[] = [];
  for (const text of ["one", "two", "three"]) {
    const file = await anthropicFile(Buffer.from(text), "a.txt", { type: "text/plain" });
    const kept = await files.upload({ file });
    assert.deepEqual([kept.filename, kept.mime_type, kept.size_bytes], ["a.txt", "text/plain", text.length]);
    ids.unshift(kept.id);
  }
  const found: string[] = [];
  for await (const { id } of files.list({ limit: 2 })) found.push(id);
  assert.deepEqual(found, ids);
  const [id = ""] = ids;
  assert.equal((await files.retrieveMetadata(id)).size_bytes, 5);
  await assert.rejects(files.download(id), { status: 400 });
  await assert.rejects(openai(started).files.retrieve(id), { status: 404 });
  assert.equal((await files.delete(id)).type, "file_deleted");
  await assert.rejects(files.retrieveMetadata(id), { status: 404 });
});

test("a batch of messages ends, and each request has its own result", async (t) => {
  const { messages } = anthropic(await simulator(t, { requireKey: "test-key" }));
  const alone = await messages.create(MESSAGE);
  const requests = [
    { custom_id: "good", params: MESSAGE },
    { custom_id: "status", params: { ...MESSAGE, model: "sim-529" } },
    { custom_id: "strict", params: { ...MESSAGE, temperature: 3 } },
    { custom_id: "streamed", params: { ...MESSAGE, stream: true } as typeof MESSAGE },
  ];
  const made = await messages.batches.create({ requests });
  assert.equal(made.results_url, null);
  await assert.rejects(messages.batches.delete(made.id), { status: 400 });
  await assert.rejects(messages.batches.results(made.id), /No batch `results_url`/);
  const seen = ["in_progress"];
  for (let status = made.processing_status; status !== "ended"; seen.push(status)) {
    status = (await messages.batches.retrieve(made.id)).processing_status;
  }
  const results = [];
  for await (const line of await messages.batches.results(made.id)) results.push(line);
  assert.deepEqual(
    results.map(({ custom_id, result }) => [
      custom_id,
      result.type === "errored" ? result.error.error.type : result.type,
    ]),
    [
      ["good", "succeeded"],
      ["status", "overloaded_error"],
      ["strict", "invalid_request_error"],
      ["streamed", "invalid_request_error"],
    ],
  );
  const first = results[0]?.result;
  assert.ok(first?.type === "succeeded");
  assert.deepEqual(first.message.content, alone.content);
  const ended = await messages.batches.retrieve(made.id);
  assert.deepEqual(ended.request_counts, { processing: 0, succeeded: 1, errored: 3, canceled: 0, expired: 0 });
  await assert.rejects(messages.batches.cancel(made.id), { status: 400 });
  assert.deepEqual(await messages.batches.delete(made.id), { id: made.id, type: "message_batch_deleted" });
  await assert.rejects(messages.batches.retrieve(made.id), { status: 404 });
});

test("an invalid batch of messages is refused as a whole; batches are paged and canceled", async (t) => {
  const { messages } = anthropic(await simulator(t));
  const one = { custom_id: "a", params: MESSAGE };
  const refused: readonly object[] = [
    {},
    { requests: [] },
    { requests: [one, one] },
    { requests: [{ ...one, custom_id: "not an id" }] },
    { requests: [{ params: MESSAGE }] },
    { requests: [{ ...one, nonsense: 1 }] },
    { requests: [one], nonsense: 1 },
  ];
  for (const body of refused) {
    const parameters = body as Parameters<typeof messages.batches.create>[0];
    await assert.rejects(messages.batches.create(parameters), { status: 400 }, JSON.stringify(body));
  }
  const ids: string[] = [];
  for (let round = 0; round < 3; round += 1) ids.unshift((await messages.batches.create({ requests: [one] })).id);
  const found: string[] = [];
  for await (const { id } of messages.batches.list({ limit: 2 })) found.push(id);
  assert.deepEqual(found, ids);
  const [id = ""] = ids;
  assert.equal((await messages.batches.cancel(id)).processing_status, "canceling");
  const canceled = await messages.batches.retrieve(id);
  assert.deepEqual([canceled.processing_status, canceled.request_counts.canceled], ["ended", 1]);
  const results = [];
  for await (const line of await messages.batches.results(id)) results.push(line);
  assert.deepEqual(results, [{ custom_id: "a", result: { type: "canceled" } }]);
});

test("files are polled into a vector store one by one and in batches, and are found by their words", async (t) => {
  const started = await simulator(t);
  const client = openai(started);
  const store = await client.vectorStores.create({ name: "facts", metadata: { team: "a" } });
  const { files, fileBatches } = client.vectorStores;
  const paris = await files.uploadAndPoll(store.id, await toFile(Buffer.from("Paris is in France."), "paris.txt"));
  assert.equal(paris.status, "completed");
  const rest = await Promise.all(
    ["Berlin is in Germany.", "Rome is in Italy."].map((text, at) => toFile(Buffer.from(text), `${at}.txt`)),
  );
  const batch = await fileBatches.uploadAndPoll(store.id, { files: rest });
  assert.deepEqual([batch.status, batch.file_counts.completed, batch.file_counts.total], ["completed", 2, 2]);
  assert.equal((await fileBatches.listFiles(batch.id, { vector_store_id: store.id })).data.length, 2);
  const whole = await client.vectorStores.retrieve(store.id);
  assert.deepEqual([whole.status, whole.file_counts.completed, whole.usage_bytes], ["completed", 3, 57]);
  const found = await client.vectorStores.search(store.id, { query: "What is in France?" });
  assert.deepEqual([found.data[0]?.filename, found.data[0]?.content[0]?.text], ["paris.txt", "Paris is in France."]);
  await files.update(paris.id, { vector_store_id: store.id, attributes: { year: 2_020, kind: "city" } });
  const year = { key: "year", type: "gte", value: 2_020 } as const;
  const kind = { key: "kind", type: "in", value: ["town"] } as const;
  const search = async (filters: OpenAI.VectorStoreSearchParams["filters"]) =>
    (await client.vectorStores.search(store.id, { query: ["is in"], ...(filters && { filters }) })).data.length;
  assert.equal(await search(undefined), 3);
  assert.equal(await search(year), 1);
  assert.equal(await search({ type: "and", filters: [year, kind] }), 0);
  assert.equal(await search({ type: "or", filters: [year, kind] }), 1);
  await assert.rejects(search({ key: "year", type: "like" as "eq", value: 1 }), { status: 400, param: "filters" });
  const text = await files.content(paris.id, { vector_store_id: store.id });
  assert.equal(text.data[0]?.text, "Paris is in France.");
  await files.delete(paris.id, { vector_store_id: store.id });
  assert.equal((await files.list(store.id)).data.length, 2);
  assert.equal((await client.files.retrieve(paris.id)).id, paris.id);
});

test("a vector store is created from files, listed, changed and deleted, and unknown items are refused", async (t) => {
  const started = await simulator(t);
  const client = openai(started);
  const { id: file } = await upload(client, "text", "assistants");
  const store = await client.vectorStores.create({ file_ids: [file] });
  assert.deepEqual([store.status, store.file_counts.in_progress], ["in_progress", 1]);
  let status = store.status;
  while (status === "in_progress") status = (await client.vectorStores.retrieve(store.id)).status;
  assert.equal(status, "completed");
  assert.equal((await client.vectorStores.update(store.id, { name: "other" })).name, "other");
  const listed: string[] = [];
  for await (const { id } of client.vectorStores.list()) listed.push(id);
  assert.deepEqual(listed, [store.id]);
  const { files, fileBatches } = client.vectorStores;
  const waiting = await fileBatches.create(store.id, { file_ids: [file] });
  const cancelled = await fileBatches.cancel(waiting.id, { vector_store_id: store.id });
  assert.equal(cancelled.status, "cancelled");
  const refused: readonly (readonly [() => Promise<unknown>, number])[] = [
    [() => client.vectorStores.retrieve("vs_none"), 404],
    [() => client.vectorStores.create({ file_ids: ["file-none"] }), 404],
    [() => client.vectorStores.create({ nonsense: 1 } as object), 400],
    [() => client.vectorStores.search(store.id, { query: "x", max_num_results: 51 }), 400],
    [() => client.vectorStores.search(store.id, { query: [] }), 400],
    [() => files.create(store.id, { file_id: "file-none" }), 404],
    [() => files.retrieve("file-none", { vector_store_id: store.id }), 404],
    [() => files.create(store.id, { file_id: file, attributes: { a: {} as string } }), 400],
    [() => fileBatches.create(store.id, {}), 400],
    [() => fileBatches.retrieve("vsfb_none", { vector_store_id: store.id }), 404],
  ];
  for (const [at, [asked, expected]] of refused.entries()) {
    await assert.rejects(asked(), (error) => {
      assert.ok(error instanceof OpenAI.APIError, `row ${at}`);
      assert.equal(error.status, expected, `row ${at}: ${error.message}`);
      return true;
    });
  }
  assert.equal((await client.vectorStores.delete(store.id)).deleted, true);
  await assert.rejects(client.vectorStores.retrieve(store.id), { status: 404 });
});

test("stored objects are limited in number and bytes, and the oldest are dropped first", () => {
  const shelf = createBoundedStore<string>({ entries: 3, bytes: 10 });
  const steps: readonly (readonly [id: string, bytes: number, left: readonly string[]])[] = [
    ["a", 1, ["a"]],
    ["b", 1, ["a", "b"]],
    ["c", 1, ["a", "b", "c"]],
    ["d", 1, ["b", "c", "d"]],
    ["e", 8, ["c", "d", "e"]],
    ["d", 2, ["d", "e"]],
    // After it has grown, the object being stored stays and the others are removed.
    ["d", 9, ["d"]],
    ["f", 11, ["f"]],
    ["g", 1, ["g"]],
  ];
  for (const [id, bytes, left] of steps) {
    shelf.put(id, id, bytes);
    assert.deepEqual(shelf.values(), left, `${id} of ${bytes}`);
  }
  assert.equal(shelf.remove("g"), true);
  assert.equal(shelf.remove("g"), false);
  shelf.put("h", "h", 10);
  assert.deepEqual(shelf.values(), ["h"]);
});
