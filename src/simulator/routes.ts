/** The routes of both dialects, as data. Names are those the gateway uses for the same routes. */

import { answerChat } from "./chat.ts";
import { answerCompletion } from "./completions.ts";
import { answerEmbeddings, answerRerank } from "./embeddings.ts";
import type { Dialect } from "./errors.ts";
import { answerFileUpload, answerImages, answerModeration, answerSpeech, answerTranscription } from "./media.ts";
import { answerMessages, countMessageTokens } from "./messages.ts";
import { answerModel, answerModels } from "./models.ts";
import { answerResponses, countResponseTokens } from "./responses/index.ts";
import type { Answer, Call } from "./route.ts";

export interface Route {
  readonly name: string;
  /** Undefined: the dialects share the path, and `anthropic-version` tells them apart. */
  readonly dialect: Dialect | undefined;
  /** Where the model is; a route without one has no faults. */
  readonly model: "required" | { readonly default: string } | "path" | "none";
  readonly answer: (call: Call) => Answer;
}

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
  ["POST /v1/files", { name: "files", dialect: undefined, model: "none", answer: answerFileUpload }],
  ["GET /v1/models", { name: "models", dialect: undefined, model: "none", answer: answerModels }],
]);

const MODEL: Route = { name: "model", dialect: undefined, model: "path", answer: answerModel };

/** Before the name of a model, which may itself contain slashes. */
export const MODEL_PATH = "/v1/models/";

export function findRoute(method: string, path: string): Route | undefined {
  if (method === "GET" && path.startsWith(MODEL_PATH) && path.length > MODEL_PATH.length) return MODEL;
  return ROUTES.get(`${method} ${path}`);
}

function compat(at: string, name: string, model: Route["model"], answer: Route["answer"]): [string, Route] {
  return [at, { name, dialect: "compat", model, answer }];
}
