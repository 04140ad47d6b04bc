/**
 * Files of vector stores, single and in batches. A file or batch is `in_progress` when it is added and at its first
 * retrieval, and `completed` from the second on.
 */

import { Refused } from "../dialect-errors.ts";
import { arrayOf, type JsonObject, objectOf, objectsOf, stringOf } from "../json-fields.ts";
import { type Answer, idOf, json, type RoutedCall } from "../route-types.ts";
import { COMPAT } from "../rules/compat-wording.ts";
import { list, mapOf, nullable, object, type Rule, text } from "../rules/shape-rules.ts";
import { compatPage } from "./list-pages.ts";
import type { StoredObjects, VectorStore, VectorStoreFile } from "./stored-objects.ts";
import { findFile } from "./uploaded-files.ts";
import { piecesOf } from "./vector-search.ts";
import { addFile, advance, chunkingRule, countsOf, storeOf } from "./vector-stores.ts";

/** Header with the polling interval for the SDKs, in milliseconds. */
const POLL_AFTER = ["openai-poll-after-ms", "20"];

const MAX_BATCH = 500;

const attribute: Rule = (value, at, judge) => {
  if (typeof value === "object") judge.refuse(at, { kind: "type", expected: "string", value });
  if (typeof value === "string") text({ max: 512 })(value, at, judge);
};
const attributes = nullable(mapOf(attribute, { max: 16, maxKey: 64 }));
const added = { file_id: text(), attributes, chunking_strategy: chunkingRule };
const addRule = object(added, ["file_id"]);
const changeRule = object({ attributes }, ["attributes"]);
const batchRule = object({
  file_ids: list(text(), { min: 1, max: MAX_BATCH }),
  files: list(object(added, ["file_id"]), { min: 1, max: MAX_BATCH }),
  attributes,
  chunking_strategy: chunkingRule,
});

export function addStoreFile(call: RoutedCall): Answer {
  const store = storeOf(call);
  const { body, stored, now } = call;
  addRule(body, "", COMPAT);
  const { id } = findFile(stored, stringOf(body["file_id"]) ?? "", "compat", "file_id");
  const file = { id, createdAt: now, attributes: objectOf(body["attributes"]) ?? {}, batchId: undefined };
  return shownAnswer(addFile(store, file), store, stored);
}

export function answerStoreFile(call: RoutedCall): Answer {
  const [file, store] = fileOf(call);
  advance([file]);
  return shownAnswer(file, store, call.stored);
}

export function changeStoreFile(call: RoutedCall): Answer {
  const [file, store] = fileOf(call);
  changeRule(call.body, "", COMPAT);
  file.attributes = objectOf(call.body["attributes"]) ?? {};
  return shownAnswer(file, store, call.stored);
}

export function listStoreFiles(call: RoutedCall): Answer {
  const store = storeOf(call);
  const filter = call.query.get("filter");
  const files = store.files.values().filter(({ status }) => filter === null || status === filter);
  return compatPage(
    files.map((file) => shown(file, store, call.stored)),
    call.query,
  );
}

export function deleteStoreFile(call: RoutedCall): Answer {
  const [{ id }, store] = fileOf(call);
  store.files.remove(id);
  return json(JSON.stringify({ id, object: "vector_store.file.deleted", deleted: true }));
}

export function answerStoreFileContent(call: RoutedCall): Answer {
  const [{ id }] = fileOf(call);
  const { content } = findFile(call.stored, id);
  const data = piecesOf(content.toString("utf8")).map((piece) => ({ type: "text", text: piece }));
  const page = { object: "vector_store.file_content.page", data, has_more: false, next_page: null };
  return json(JSON.stringify(page));
}

export function addFileBatch(call: RoutedCall): Answer {
  const store = storeOf(call);
  const { body, stored, serial, now } = call;
  batchRule(body, "", COMPAT);
  if ((body["file_ids"] === undefined) === (body["files"] === undefined)) {
    throw new Refused(400, "Exactly one of 'file_ids' and 'files' must be given.", "file_ids");
  }
  const common = objectOf(body["attributes"]) ?? {};
  const wanted = [
    ...(arrayOf(body["file_ids"]) ?? []).map((id): [string, JsonObject] => [stringOf(id) ?? "", common]),
    ...objectsOf(body["files"]).map((each): [string, JsonObject] => [
      stringOf(each["file_id"]) ?? "",
      objectOf(each["attributes"]) ?? {},
    ]),
  ];
  for (const [id] of wanted) findFile(stored, id, "compat", "file_ids");
  const batch = { id: idOf("vsfb_", serial), createdAt: now };
  store.batches.put(batch.id, batch, JSON.stringify(batch).length);
  for (const [id, own] of wanted) addFile(store, { id, createdAt: now, attributes: own, batchId: batch.id });
  return batchAnswer(batch, store);
}

export function answerFileBatch(call: RoutedCall): Answer {
  const [batch, store] = batchOf(call);
  advance(filesIn(batch.id, store));
  return batchAnswer(batch, store);
}

export function cancelFileBatch(call: RoutedCall): Answer {
  const [batch, store] = batchOf(call);
  for (const file of filesIn(batch.id, store)) if (file.status === "in_progress") file.status = "cancelled";
  return batchAnswer(batch, store);
}

export function listBatchFiles(call: RoutedCall): Answer {
  const [batch, store] = batchOf(call);
  return compatPage(
    filesIn(batch.id, store).map((file) => shown(file, store, call.stored)),
    call.query,
  );
}

function fileOf(call: RoutedCall): [VectorStoreFile, VectorStore] {
  const store = storeOf(call);
  const id = call.params["file"] ?? "";
  const file = store.files.get(id);
  if (file !== undefined) return [file, store];
  throw new Refused(404, `No file found with id '${id.slice(0, 64)}' in the vector store.`, null, null);
}

function batchOf(call: RoutedCall): [{ readonly id: string; readonly createdAt: number }, VectorStore] {
  const store = storeOf(call);
  const id = call.params["batch"] ?? "";
  const batch = store.batches.get(id);
  if (batch !== undefined) return [batch, store];
  throw new Refused(404, `No file batch found with id '${id.slice(0, 64)}' in the vector store.`, null, null);
}

function filesIn(batchId: string, store: VectorStore): readonly VectorStoreFile[] {
  return store.files.values().filter((file) => file.batchId === batchId);
}

function batchAnswer(batch: { readonly id: string; readonly createdAt: number }, store: VectorStore) {
  const files = filesIn(batch.id, store);
  const has = (status: VectorStoreFile["status"]): boolean => files.some((file) => file.status === status);
  const status = has("in_progress") ? "in_progress" : has("cancelled") ? "cancelled" : "completed";
  const shownBatch = {
    id: batch.id,
    object: "vector_store.files_batch",
    created_at: batch.createdAt,
    vector_store_id: store.id,
    status,
    file_counts: countsOf(files),
  };
  return polled(shownBatch, status === "in_progress");
}

function shownAnswer(file: VectorStoreFile, store: VectorStore, stored: StoredObjects): Answer {
  return polled(shown(file, store, stored), file.status === "in_progress");
}

function polled(value: JsonObject, isUnderWay: boolean): Answer {
  const answer = json(JSON.stringify(value));
  return isUnderWay ? { ...answer, headers: POLL_AFTER } : answer;
}

function shown({ id, createdAt, attributes: own, status }: VectorStoreFile, store: VectorStore, stored: StoredObjects) {
  return {
    id,
    object: "vector_store.file",
    created_at: createdAt,
    vector_store_id: store.id,
    usage_bytes: stored.files.get(id)?.content.length ?? 0,
    status,
    last_error: null,
    attributes: own,
    chunking_strategy: { type: "static", static: { max_chunk_size_tokens: 800, chunk_overlap_tokens: 400 } },
  };
}
