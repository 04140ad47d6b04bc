/**
 * Answers `/v1/batches`. A batch is `validating` when it is created, `in_progress` at its first retrieval and
 * `completed` at the second, when its requests are answered.
 *
 * Source: the OpenAPI document of the compat dialect, and the types of the official SDK.
 */

import { Refused } from "../dialect-errors.ts";
import { type JsonObject, objectOf, parseJson, stringOf } from "../json-fields.ts";
import { type Answer, idOf, json, type RoutedCall } from "../route-types.ts";
import { COMPAT } from "../rules/compat-wording.ts";
import { choice, mapOf, nullable, object, text, whole } from "../rules/shape-rules.ts";
import { compatPage } from "./list-pages.ts";
import { type BatchAnswer, type BatchRequest, runBatch } from "./run-batch.ts";
import { newBatch, type StoredCompatBatch } from "./stored-objects.ts";
import { findFile, storeFile } from "./uploaded-files.ts";

const MAX_REQUESTS = 50_000;
const DAY_SECONDS = 86_400;

/** Maximum number of listed errors. */
const MAX_ERRORS = 100;

export const metadataRule = nullable(mapOf(text({ max: 512 }), { max: 16, maxKey: 64 }));

const rule = object(
  {
    completion_window: choice("24h"),
    endpoint: choice(
      "/v1/responses",
      "/v1/chat/completions",
      "/v1/embeddings",
      "/v1/completions",
      "/v1/moderations",
      "/v1/images/generations",
      "/v1/images/edits",
    ),
    input_file_id: text(),
    metadata: metadataRule,
    output_expires_after: object({ anchor: choice("created_at"), seconds: whole(3_600, 2_592_000) }, [
      "anchor",
      "seconds",
    ]),
  },
  ["input_file_id", "endpoint", "completion_window"],
);

export function createBatch({ body, stored, serial, now }: RoutedCall): Answer {
  rule(body, "", COMPAT);
  const inputFileId = stringOf(body["input_file_id"]) ?? "";
  const { purpose } = findFile(stored, inputFileId, "compat", "input_file_id");
  if (purpose !== "batch") {
    throw new Refused(400, "The input file's purpose must be 'batch'.", "input_file_id", "invalid_value");
  }
  const batch: StoredCompatBatch = {
    ...newBatch(idOf("batch_", serial), serial, now),
    endpoint: stringOf(body["endpoint"]) ?? "",
    inputFileId,
    metadata: body["metadata"] ?? null,
    status: "validating",
    outputFileId: undefined,
    errorFileId: undefined,
    errors: [],
    counts: { total: 0, completed: 0, failed: 0 },
  };
  stored.batches.put(batch.id, batch, JSON.stringify(body).length);
  return json(JSON.stringify(batchJson(batch)));
}

export async function answerBatch(call: RoutedCall): Promise<Answer> {
  const batch = batchOf(call);
  batch.polls += 1;
  if (batch.isCanceling && batch.endedAt === undefined) endBatch(batch, "cancelled", call.now);
  else if (batch.endedAt === undefined && batch.polls === 1) validateBatch(call, batch);
  else if (batch.endedAt === undefined) {
    batch.work ??= completeBatch(call, batch);
    await batch.work;
  }
  return json(JSON.stringify(batchJson(batch)));
}

export function listBatches({ stored, query }: RoutedCall): Answer {
  return compatPage(stored.batches.values().map(batchJson), query);
}

export function cancelBatch(call: RoutedCall): Answer {
  const batch = batchOf(call);
  if (batch.endedAt !== undefined || batch.work !== undefined) {
    throw new Refused(409, `Cannot cancel a batch with status '${batch.status}'.`, null, null);
  }
  batch.isCanceling = true;
  batch.status = "cancelling";
  return json(JSON.stringify(batchJson(batch)));
}

function batchOf({ stored, params: { id = "" } }: RoutedCall): StoredCompatBatch {
  const batch = stored.batches.get(id);
  if (batch !== undefined) return batch;
  throw new Refused(404, `No batch found with id '${id.slice(0, 64)}'.`, null, null);
}

function endBatch(batch: StoredCompatBatch, status: string, now: number): void {
  batch.status = status;
  batch.endedAt = now;
}

/** Starts a batch by validating its file. */
function validateBatch(call: RoutedCall, batch: StoredCompatBatch): void {
  const { requests, errors } = parseFile(call, batch);
  if (errors.length > 0) {
    failBatch(batch, errors, call.now);
    return;
  }
  batch.status = "in_progress";
  batch.counts = { total: requests.length, completed: 0, failed: 0 };
}

function failBatch(batch: StoredCompatBatch, errors: readonly JsonObject[], now: number): void {
  batch.errors = errors.slice(0, MAX_ERRORS);
  endBatch(batch, "failed", now);
}

interface ParsedFile {
  readonly requests: readonly BatchRequest[];
  readonly errors: readonly JsonObject[];
}

function parseFile({ stored }: RoutedCall, { inputFileId, endpoint }: StoredCompatBatch): ParsedFile {
  const file = stored.files.get(inputFileId);
  if (file === undefined) return { requests: [], errors: [fault("file_not_found", "The input file was deleted.")] };
  const requests: BatchRequest[] = [];
  const errors: JsonObject[] = [];
  const ids = new Set<string>();
  for (const [index, line] of file.content.toString("utf8").split("\n").entries()) {
    if (line.trim() === "") continue;
    if (requests.length === MAX_REQUESTS) {
      errors.push(fault("too_many_requests", `A batch has ${MAX_REQUESTS} requests at most.`));
      break;
    }
    const parsed = parseLine(line, endpoint, ids);
    if (parsed.kind === "request") requests.push(parsed.request);
    else errors.push({ ...parsed.fault, line: index + 1 });
  }
  if (requests.length === 0 && errors.length === 0) errors.push(fault("empty_file", "The input file is empty."));
  return { requests, errors };
}

type ParsedLine =
  | { readonly kind: "request"; readonly request: BatchRequest }
  | { readonly kind: "fault"; readonly fault: JsonObject };

function parseLine(line: string, endpoint: string, ids: Set<string>): ParsedLine {
  const faultOfLine = (code: string, message: string, param?: string): ParsedLine => ({
    kind: "fault",
    fault: fault(code, message, param),
  });
  let read: JsonObject | undefined;
  try {
    read = objectOf(parseJson(line));
  } catch {
    // Reported below, like a line that is not an object.
  }
  if (read === undefined) return faultOfLine("invalid_json_line", "This line is not parseable as valid JSON.");
  const customId = read["custom_id"];
  const body = objectOf(read["body"]);
  if (typeof customId !== "string" || customId === "") {
    return faultOfLine("missing_required_parameter", "custom_id must be a string that is not empty.", "custom_id");
  }
  if (ids.has(customId))
    return faultOfLine("duplicate_custom_id", "The custom_id is of an earlier line too.", "custom_id");
  ids.add(customId);
  if (read["method"] !== "POST") return faultOfLine("invalid_method", "The method must be POST.", "method");
  if (read["url"] !== endpoint) return faultOfLine("invalid_url", "The url must be the endpoint of the batch.", "url");
  if (body === undefined) return faultOfLine("missing_required_parameter", "body must be an object.", "body");
  return { kind: "request", request: { customId, path: endpoint, body } };
}

function fault(code: string, message: string, param: string | null = null): JsonObject {
  return { code, message, param, line: null };
}

async function completeBatch(call: RoutedCall, batch: StoredCompatBatch): Promise<void> {
  const { requests, errors } = parseFile(call, batch);
  if (errors.length > 0) {
    failBatch(batch, errors, call.now);
    return;
  }
  batch.status = "finalizing";
  const answers = await runBatch(call, requests);
  const isGood = ({ status = 0 }: BatchAnswer): boolean => status >= 200 && status < 300;
  const lines = answers.map((answer, index) => ({ isGood: isGood(answer), line: resultLine(answer, batch, index) }));
  const succeeded = lines.filter((each) => each.isGood);
  const failed = lines.filter((each) => !each.isGood);
  const storeLines = (name: "output" | "error", selected: typeof lines): string | undefined => {
    if (selected.length === 0) return undefined;
    const id = `${idOf("file-", batch.serial)}_${name}`;
    const content = Buffer.from(selected.map(({ line }) => `${line}\n`).join(""));
    const filename = `${batch.id}_${name}.jsonl`;
    const file = { id, filename, purpose: "batch_output", mimeType: "application/jsonl", createdAt: call.now, content };
    storeFile(call.stored, { ...file, dialect: "compat" });
    return id;
  };
  batch.outputFileId = storeLines("output", succeeded);
  batch.errorFileId = storeLines("error", failed);
  batch.counts = { total: answers.length, completed: succeeded.length, failed: failed.length };
  endBatch(batch, answers.some(({ status }) => status === undefined) ? "expired" : "completed", call.now);
}

function resultLine({ customId, status, body }: BatchAnswer, batch: StoredCompatBatch, index: number): string {
  const id = `${idOf("batch_req_", batch.serial)}_${index}`;
  const head = `{"id":"${id}","custom_id":${JSON.stringify(customId)}`;
  if (status === undefined) {
    const error = { code: "batch_expired", message: "This request could not be executed before the batch expired." };
    return `${head},"response":null,"error":${JSON.stringify(error)}}`;
  }
  return `${head},"response":{"status_code":${status},"request_id":"${id}","body":${body}},"error":null}`;
}

function batchJson(batch: StoredCompatBatch) {
  const { createdAt, endedAt, status } = batch;
  const at = (...statuses: readonly string[]) => (statuses.includes(status) ? (endedAt ?? createdAt) : null);
  return {
    id: batch.id,
    object: "batch",
    endpoint: batch.endpoint,
    errors: batch.errors.length === 0 ? null : { object: "list", data: batch.errors },
    input_file_id: batch.inputFileId,
    completion_window: "24h",
    status,
    output_file_id: batch.outputFileId ?? null,
    error_file_id: batch.errorFileId ?? null,
    created_at: createdAt,
    in_progress_at: batch.counts.total > 0 ? createdAt : null,
    expires_at: createdAt + DAY_SECONDS,
    finalizing_at: at("finalizing", "completed"),
    completed_at: at("completed"),
    failed_at: at("failed"),
    expired_at: at("expired"),
    cancelling_at: batch.isCanceling ? (endedAt ?? createdAt) : null,
    cancelled_at: at("cancelled"),
    request_counts: batch.counts,
    metadata: batch.metadata,
  };
}
