/**
 * Answers `/v1/vector_stores`, except for their files. Source: the OpenAPI document of the compat dialect, and the
 * types of the official SDK.
 */

import { Refused } from "../dialect-errors.ts";
import { arrayOf, type JsonObject, stringOf } from "../json-fields.ts";
import { type Answer, idOf, json, type RoutedCall } from "../route-types.ts";
import { COMPAT } from "../rules/compat-wording.ts";
import { choice, list, nullable, object, taggedUnion, text, whole } from "../rules/shape-rules.ts";
import { createBoundedStore } from "./bounded-store.ts";
import { metadataRule } from "./compat-batches.ts";
import { compatPage } from "./list-pages.ts";
import type { StoredObjects, VectorStore, VectorStoreFile } from "./stored-objects.ts";
import { findFile } from "./uploaded-files.ts";

const MAX_FILES = 1_000;

/** Maximum number of files. Each is an id and attributes; the files themselves are bounded separately. */
const MAX_FILE_BYTES = 1 << 20;

/** Approximate size of an empty store in bytes. */
const STORE_BYTES = 1_024;

export const chunkingRule = taggedUnion({
  auto: object({ type: choice("auto") }, ["type"]),
  static: object(
    {
      type: choice("static"),
      static: object({ max_chunk_size_tokens: whole(100, 4_096), chunk_overlap_tokens: whole(0, 2_048) }, [
        "max_chunk_size_tokens",
        "chunk_overlap_tokens",
      ]),
    },
    ["type", "static"],
  ),
});

const changed = {
  name: nullable(text({ max: 256 })),
  metadata: metadataRule,
  expires_after: nullable(object({ anchor: choice("last_active_at"), days: whole(1, 365) }, ["anchor", "days"])),
};

const createRule = object({
  ...changed,
  description: text(),
  file_ids: list(text(), { max: 500 }),
  chunking_strategy: chunkingRule,
});
const updateRule = object(changed);

export function createVectorStore({ body, stored, serial, now }: RoutedCall): Answer {
  createRule(body, "", COMPAT);
  const ids = (arrayOf(body["file_ids"]) ?? []).map(
    (id) => findFile(stored, stringOf(id) ?? "", "compat", "file_ids").id,
  );
  const store: VectorStore = {
    id: idOf("vs_", serial),
    createdAt: now,
    name: stringOf(body["name"]) ?? "",
    metadata: body["metadata"] ?? null,
    expiresAfter: body["expires_after"] ?? null,
    files: createBoundedStore({ entries: MAX_FILES, bytes: MAX_FILE_BYTES }),
    batches: createBoundedStore({ entries: MAX_FILES, bytes: MAX_FILE_BYTES }),
  };
  for (const id of ids) addFile(store, { id, createdAt: now, attributes: {}, batchId: undefined });
  stored.vectorStores.put(store.id, store, STORE_BYTES + JSON.stringify(body).length);
  return json(JSON.stringify(shown(store, stored)));
}

export function addFile(store: VectorStore, file: Omit<VectorStoreFile, "polls" | "status">): VectorStoreFile {
  const stored: VectorStoreFile = { ...file, polls: 0, status: "in_progress" };
  store.files.put(stored.id, stored, JSON.stringify(stored).length);
  return stored;
}

export function answerVectorStore(call: RoutedCall): Answer {
  const store = storeOf(call);
  const text = JSON.stringify(shown(store, call.stored));
  advance(store.files.values());
  return json(text);
}

export function changeVectorStore(call: RoutedCall): Answer {
  const store = storeOf(call);
  const { body } = call;
  updateRule(body, "", COMPAT);
  store.name = stringOf(body["name"]) ?? store.name;
  store.metadata = body["metadata"] ?? store.metadata;
  store.expiresAfter = body["expires_after"] ?? store.expiresAfter;
  return json(JSON.stringify(shown(store, call.stored)));
}

export function listVectorStores({ stored, query }: RoutedCall): Answer {
  return compatPage(
    stored.vectorStores.values().map((store) => shown(store, stored)),
    query,
  );
}

export function deleteVectorStore(call: RoutedCall): Answer {
  const { id } = storeOf(call);
  call.stored.vectorStores.remove(id);
  return json(JSON.stringify({ id, object: "vector_store.deleted", deleted: true }));
}

/** Counts a retrieval of each file. A file is completed after the second. */
export function advance(files: readonly VectorStoreFile[]): void {
  for (const file of files) {
    file.polls += 1;
    if (file.polls > 1 && file.status === "in_progress") file.status = "completed";
  }
}

export function storeOf({ stored, params: { id = "" } }: RoutedCall): VectorStore {
  const store = stored.vectorStores.get(id);
  if (store !== undefined) return store;
  throw new Refused(404, `Vector store with id '${id.slice(0, 64)}' not found.`, null, null);
}

export function countsOf(files: readonly VectorStoreFile[]): JsonObject {
  const count = (status: VectorStoreFile["status"]): number => files.filter((file) => file.status === status).length;
  return {
    in_progress: count("in_progress"),
    completed: count("completed"),
    failed: 0,
    cancelled: count("cancelled"),
    total: files.length,
  };
}

function shown({ id, createdAt, name, metadata, expiresAfter, files }: VectorStore, stored: StoredObjects) {
  const all = files.values();
  const isDone = all.every(({ status }) => status !== "in_progress");
  return {
    id,
    object: "vector_store",
    created_at: createdAt,
    name,
    usage_bytes: all.reduce((sum, file) => sum + (stored.files.get(file.id)?.content.length ?? 0), 0),
    file_counts: countsOf(all),
    status: isDone ? "completed" : "in_progress",
    expires_after: expiresAfter,
    expires_at: null,
    last_active_at: createdAt,
    metadata,
  };
}
