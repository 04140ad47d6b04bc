/** Table of the routes of both dialects, with the gateway's names for them. */

import { answerChat } from "./answer-chat.ts";
import { answerCompletion } from "./answer-completions.ts";
import { answerEmbeddings, answerRerank } from "./answer-embeddings.ts";
import { answerImages, answerModeration, answerSpeech, answerTranscription } from "./answer-media.ts";
import { answerMessages, countMessageTokens } from "./answer-messages.ts";
import { answerModel, answerModels } from "./answer-models.ts";
import { answerResponses, countResponseTokens } from "./responses/index.ts";
import type { Route } from "./route-types.ts";
import * as batches from "./stored/compat-batches.ts";
import * as messageBatches from "./stored/message-batches.ts";
import * as files from "./stored/uploaded-files.ts";
import { searchVectorStore } from "./stored/vector-search.ts";
import * as storeFiles from "./stored/vector-store-files.ts";
import * as stores from "./stored/vector-stores.ts";

const ROUTES = new Map<string, Route>([
  compat("POST /v1/chat/completions", "chat_completions", "required", answerChat),
  compat("POST /v1/completions", "completions", "required", answerCompletion),
  compat("POST /v1/embeddings", "embeddings", "required", answerEmbeddings),
  compat("POST /v1/rerank", "rerank", "required", answerRerank),
  compat("POST /v1/responses", "responses", { default: "sim-large" }, answerResponses),
  compat("POST /v1/responses/input_tokens", "responses_input_tokens", { default: "sim-large" }, countResponseTokens),
  compat("POST /v1/audio/transcriptions", "audio_transcriptions", "required", answerTranscription),
  compat("POST /v1/audio/translations", "audio_translations", "required", answerTranscription),
  compat("POST /v1/audio/speech", "audio_speech", "required", answerSpeech),
  compat("POST /v1/images/generations", "images_generations", { default: "sim-image" }, answerImages),
  compat("POST /v1/images/edits", "images_edits", { default: "sim-image" }, answerImages),
  compat("POST /v1/moderations", "moderations", { default: "sim-moderation" }, answerModeration),
  ["POST /v1/messages", { name: "messages", dialect: "messages", model: "required", answer: answerMessages }],
  [
    "POST /v1/messages/count_tokens",
    { name: "count_tokens", dialect: "messages", model: "required", answer: countMessageTokens },
  ],
  ["GET /v1/models", { name: "models", dialect: undefined, model: "none", answer: answerModels }],
]);

const MODEL: Route = { name: "model", dialect: undefined, model: "path", answer: answerModel };

/** Path before the name of a model, which may itself contain slashes. */
export const MODEL_PATH = "/v1/models/";

type StoredObjectRoute = readonly [at: string, dialect: Route["dialect"], answer: Route["answer"]];

/** Routes of stored objects. A segment in braces is a parameter. */
const STORED_OBJECT_ROUTES: readonly StoredObjectRoute[] = [
  ["POST /v1/files", undefined, files.answerFileUpload],
  ["GET /v1/files", undefined, files.listFiles],
  ["GET /v1/files/{id}", undefined, files.answerFile],
  ["DELETE /v1/files/{id}", undefined, files.deleteFile],
  ["GET /v1/files/{id}/content", undefined, files.answerFileContent],
  ["POST /v1/batches", "compat", batches.createBatch],
  ["GET /v1/batches", "compat", batches.listBatches],
  ["GET /v1/batches/{id}", "compat", batches.answerBatch],
  ["POST /v1/batches/{id}/cancel", "compat", batches.cancelBatch],
  ["POST /v1/messages/batches", "messages", messageBatches.createMessageBatch],
  ["GET /v1/messages/batches", "messages", messageBatches.listMessageBatches],
  ["GET /v1/messages/batches/{id}", "messages", messageBatches.answerMessageBatch],
  ["DELETE /v1/messages/batches/{id}", "messages", messageBatches.deleteMessageBatch],
  ["POST /v1/messages/batches/{id}/cancel", "messages", messageBatches.cancelMessageBatch],
  ["GET /v1/messages/batches/{id}/results", "messages", messageBatches.answerMessageBatchResults],
  ["POST /v1/vector_stores", "compat", stores.createVectorStore],
  ["GET /v1/vector_stores", "compat", stores.listVectorStores],
  ["GET /v1/vector_stores/{id}", "compat", stores.answerVectorStore],
  ["POST /v1/vector_stores/{id}", "compat", stores.changeVectorStore],
  ["DELETE /v1/vector_stores/{id}", "compat", stores.deleteVectorStore],
  ["POST /v1/vector_stores/{id}/search", "compat", searchVectorStore],
  ["POST /v1/vector_stores/{id}/files", "compat", storeFiles.addStoreFile],
  ["GET /v1/vector_stores/{id}/files", "compat", storeFiles.listStoreFiles],
  ["GET /v1/vector_stores/{id}/files/{file}", "compat", storeFiles.answerStoreFile],
  ["POST /v1/vector_stores/{id}/files/{file}", "compat", storeFiles.changeStoreFile],
  ["DELETE /v1/vector_stores/{id}/files/{file}", "compat", storeFiles.deleteStoreFile],
  ["GET /v1/vector_stores/{id}/files/{file}/content", "compat", storeFiles.answerStoreFileContent],
  ["POST /v1/vector_stores/{id}/file_batches", "compat", storeFiles.addFileBatch],
  ["GET /v1/vector_stores/{id}/file_batches/{batch}", "compat", storeFiles.answerFileBatch],
  ["POST /v1/vector_stores/{id}/file_batches/{batch}/cancel", "compat", storeFiles.cancelFileBatch],
  ["GET /v1/vector_stores/{id}/file_batches/{batch}/files", "compat", storeFiles.listBatchFiles],
];

/** Returns whether the body is read as JSON. Cancelling has no body. */
const hasJsonBody = (at: string): boolean =>
  at.startsWith("POST ") && !at.endsWith("/cancel") && at !== "POST /v1/files";

const PATTERNS = STORED_OBJECT_ROUTES.map(([at, dialect, answer]) => {
  const [method = "", path = ""] = at.split(" ");
  const name = /^\/v1\/(messages\/batches|[a-z_]+)/.exec(path)?.[1]?.replace("/", "_") ?? "";
  const route: Route = { name, dialect, model: "none", ...(hasJsonBody(at) && { isJson: true }), answer };
  return { method, parts: path.split("/"), route };
});

interface FoundRoute {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

const NO_PARAMS: FoundRoute["params"] = {};

export function findRoute(method: string, path: string): FoundRoute | undefined {
  if (method === "GET" && path.startsWith(MODEL_PATH) && path.length > MODEL_PATH.length) {
    return { route: MODEL, params: NO_PARAMS };
  }
  const route = ROUTES.get(`${method} ${path}`);
  return route === undefined ? findStoredObjectRoute(method, path.split("/")) : { route, params: NO_PARAMS };
}

function findStoredObjectRoute(method: string, segments: readonly string[]): FoundRoute | undefined {
  for (const { method: wanted, parts, route } of PATTERNS) {
    if (wanted !== method || parts.length !== segments.length) continue;
    const params: Record<string, string> = {};
    const isSame = parts.every((part, index) => {
      const other = segments[index] ?? "";
      if (!part.startsWith("{")) return part === other;
      params[part.slice(1, -1)] = other;
      return other !== "";
    });
    if (isSame) return { route, params };
  }
  return undefined;
}

function compat(at: string, name: string, model: Route["model"], answer: Route["answer"]): [string, Route] {
  return [at, { name, dialect: "compat", model, answer }];
}
