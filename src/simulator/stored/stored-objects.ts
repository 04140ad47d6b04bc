/** Objects that the simulated provider stores for its clients until they are deleted or dropped for newer ones. */

import type { Json, JsonObject } from "../json-fields.ts";
import { type BoundedStore, createBoundedStore } from "./bounded-store.ts";

export interface UploadedFile {
  readonly id: string;
  readonly dialect: "compat" | "messages";
  readonly filename: string;
  /** Purpose; empty in the messages dialect. */
  readonly purpose: string;
  readonly mimeType: string;
  /** Creation time in seconds since 1970. */
  readonly createdAt: number;
  readonly content: Buffer;
}

/** Unfinished batch. Each retrieval advances it by one step. */
interface StoredBatch {
  readonly id: string;
  readonly serial: number;
  readonly createdAt: number;
  /** Number of retrievals so far. */
  polls: number;
  isCanceling: boolean;
  endedAt: number | undefined;
  /** Promise of the answers, set by the retrieval that completes the batch. */
  work: Promise<void> | undefined;
}

export function newBatch(id: string, serial: number, createdAt: number): StoredBatch {
  return { id, serial, createdAt, polls: 0, isCanceling: false, endedAt: undefined, work: undefined };
}

export interface StoredCompatBatch extends StoredBatch {
  readonly endpoint: string;
  readonly inputFileId: string;
  readonly metadata: Json;
  status: string;
  outputFileId: string | undefined;
  errorFileId: string | undefined;
  errors: readonly JsonObject[];
  counts: { readonly total: number; readonly completed: number; readonly failed: number };
}

export interface StoredMessageBatch extends StoredBatch {
  /** Requests; emptied once they are answered. */
  requests: readonly JsonObject[];
  counts: Readonly<Record<"processing" | "succeeded" | "errored" | "canceled" | "expired", number>>;
  /** Results as JSON lines. */
  results: string;
}

/** File of a vector store. Its text is stored with the file itself. */
export interface VectorStoreFile {
  readonly id: string;
  readonly createdAt: number;
  attributes: JsonObject;
  /** Number of retrievals so far. */
  polls: number;
  status: "in_progress" | "completed" | "cancelled";
  readonly batchId: string | undefined;
}

export interface VectorStore {
  readonly id: string;
  readonly createdAt: number;
  name: string;
  metadata: Json;
  expiresAfter: Json;
  readonly files: BoundedStore<VectorStoreFile>;
  /** Batches of files, with the time of their creation. */
  readonly batches: BoundedStore<{ readonly id: string; readonly createdAt: number }>;
}

export interface StoredObjects {
  readonly files: BoundedStore<UploadedFile>;
  readonly batches: BoundedStore<StoredCompatBatch>;
  readonly messageBatches: BoundedStore<StoredMessageBatch>;
  readonly vectorStores: BoundedStore<VectorStore>;
  clear(): void;
}

const MIB = 1 << 20;

export function createStoredObjects(): StoredObjects {
  const files = createBoundedStore<UploadedFile>({ entries: 10_000, bytes: 256 * MIB });
  const batches = createBoundedStore<StoredCompatBatch>({ entries: 1_000, bytes: 16 * MIB });
  const messageBatches = createBoundedStore<StoredMessageBatch>({ entries: 1_000, bytes: 256 * MIB });
  const vectorStores = createBoundedStore<VectorStore>({ entries: 64, bytes: 64 * MIB });
  return {
    files,
    batches,
    messageBatches,
    vectorStores,
    clear() {
      for (const store of [files, batches, messageBatches, vectorStores]) store.clear();
    },
  };
}
