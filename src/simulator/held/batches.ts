/**
 * Answers `/v1/batches`. A batch is `validating` when it is created, `in_progress` at its first retrieval and
 * `completed` at the second, when its requests are answered.
 *
 * Source: the OpenAPI document of the compat dialect, and the types of the official SDK.
 */

import { Refused } from "../errors.ts";
import { type JsonObject, objectOf, parseJson, stringOf } from "../json.ts";
import { type Answer, idOf, json, type RoutedCall } from "../route.ts";
import { COMPAT } from "../rules/compat-errors.ts";
import { choice, mapOf, nullable, object, text, whole } from "../rules/shape.ts";
import { existingFile, keepFile } from "./files.ts";
import { compatPage } from "./pages.ts";
import { type BatchAnswer, type BatchRequest, runBatch } from "./run.ts";
import { begunBatch, type HeldCompatBatch } from "./types.ts";

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

export function createBatch({ body, held, serial, now }: RoutedCall): Answer {
  rule(body, "", COMPAT);
  const inputFileId = stringOf(body["input_file_id"]) ?? "";
  const { purpose } = existingFile(held, inputFileId, "compat", "input_file_id");
  if (purpose !== "batch") {
    throw new Refused(400, "The input file's purpose must be 'batch'.", "input_file_id", "invalid_value");
  }
  const batch: HeldCompatBatch = {
    ...begunBatch(idOf("batch_", serial), serial, now),
    endpoint: stringOf(body["endpoint"]) ?? "",
    inputFileId,
    metadata: body["metadata"] ?? null,
    status: "validating",
    outputFileId: undefined,
    errorFileId: undefined,
    errors: [],
    counts: { total: 0, completed: 0, failed: 0 },
  };
  held.batches.put(batch.id, batch, JSON.stringify(body).length);
  return json(JSON.stringify(shown(batch)));
}

export async function answerBatch(call: RoutedCall): Promise<Answer> {
  const batch = batchOf(call);
  batch.polls += 1;
  if (batch.isCanceling && batch.endedAt === undefined) end(batch, "cancelled", call.now);
  else if (batch.endedAt === undefined && batch.polls === 1) begin(call, batch);
  else if (batch.endedAt === undefined) {
    batch.work ??= complete(call, batch);
    await batch.work;
  }
  return json(JSON.stringify(shown(batch)));
}

export function listBatches({ held, query }: RoutedCall): Answer {
  return compatPage(held.batches.values().map(shown), query);
}

export function cancelBatch(call: RoutedCall): Answer {
  const batch = batchOf(call);
  if (batch.endedAt !== undefined || batch.work !== undefined) {
    throw new Refused(409, `Cannot cancel a batch with status '${batch.status}'.`, null, null);
  }
  batch.isCanceling = true;
  batch.status = "cancelling";
  return json(JSON.stringify(shown(batch)));
}

function batchOf({ held, params: { id = "" } }: RoutedCall): HeldCompatBatch {
  const batch = held.batches.get(id);
  if (batch !== undefined) return batch;
  throw new Refused(404, `No batch found with id '${id.slice(0, 64)}'.`, null, null);
}

function end(batch: HeldCompatBatch, status: string, now: number): void {
  batch.status = status;
  batch.endedAt = now;
}

/** Starts a batch by validating its file. */
function begin(call: RoutedCall, batch: HeldCompatBatch): void {
  const { requests, errors } = readRequests(call, batch);
  if (errors.length > 0) {
    fail(batch, errors, call.now);
    return;
  }
  batch.status = "in_progress";
  batch.counts = { total: requests.length, completed: 0, failed: 0 };
}

function fail(batch: HeldCompatBatch, errors: readonly JsonObject[], now: number): void {
  batch.errors = errors.slice(0, MAX_ERRORS);
  end(batch, "failed", now);
}

interface ReadRequests {
  readonly requests: readonly BatchRequest[];
  readonly errors: readonly JsonObject[];
}

function readRequests({ held }: RoutedCall, { inputFileId, endpoint }: HeldCompatBatch): ReadRequests {
  const file = held.files.get(inputFileId);
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
    const found = readLine(line, endpoint, ids);
    if (found.kind === "request") requests.push(found.request);
    else errors.push({ ...found.fault, line: index + 1 });
  }
  if (requests.length === 0 && errors.length === 0) errors.push(fault("empty_file", "The input file is empty."));
  return { requests, errors };
}

type ReadLine =
  | { readonly kind: "request"; readonly request: BatchRequest }
  | { readonly kind: "fault"; readonly fault: JsonObject };

function readLine(line: string, endpoint: string, ids: Set<string>): ReadLine {
  const bad = (code: string, message: string, param?: string): ReadLine => ({
    kind: "fault",
    fault: fault(code, message, param),
  });
  let read: JsonObject | undefined;
  try {
    read = objectOf(parseJson(line));
  } catch {
    // Reported below, like a line that is not an object.
  }
  if (read === undefined) return bad("invalid_json_line", "This line is not parseable as valid JSON.");
  const customId = read["custom_id"];
  const body = objectOf(read["body"]);
  if (typeof customId !== "string" || customId === "") {
    return bad("missing_required_parameter", "custom_id must be a string that is not empty.", "custom_id");
  }
  if (ids.has(customId)) return bad("duplicate_custom_id", "The custom_id is of an earlier line too.", "custom_id");
  ids.add(customId);
  if (read["method"] !== "POST") return bad("invalid_method", "The method must be POST.", "method");
  if (read["url"] !== endpoint) return bad("invalid_url", "The url must be the endpoint of the batch.", "url");
  if (body === undefined) return bad("missing_required_parameter", "body must be an object.", "body");
  return { kind: "request", request: { customId, path: endpoint, body } };
}

function fault(code: string, message: string, param: string | null = null): JsonObject {
  return { code, message, param, line: null };
}

async function complete(call: RoutedCall, batch: HeldCompatBatch): Promise<void> {
  const { requests, errors } = readRequests(call, batch);
  if (errors.length > 0) {
    fail(batch, errors, call.now);
    return;
  }
  batch.status = "finalizing";
  const answers = await runBatch(call, requests);
  const isGood = ({ status = 0 }: BatchAnswer): boolean => status >= 200 && status < 300;
  const lines = answers.map((answer, index) => ({ isGood: isGood(answer), line: lineOf(answer, batch, index) }));
  const good = lines.filter((each) => each.isGood);
  const bad = lines.filter((each) => !each.isGood);
  const keep = (name: "output" | "error", kept: typeof lines): string | undefined => {
    if (kept.length === 0) return undefined;
    const id = `${idOf("file-", batch.serial)}_${name}`;
    const content = Buffer.from(kept.map(({ line }) => `${line}\n`).join(""));
    const filename = `${batch.id}_${name}.jsonl`;
    const file = { id, filename, purpose: "batch_output", mimeType: "application/jsonl", createdAt: call.now, content };
    keepFile(call.held, { ...file, dialect: "compat" });
    return id;
  };
  batch.outputFileId = keep("output", good);
  batch.errorFileId = keep("error", bad);
  batch.counts = { total: answers.length, completed: good.length, failed: bad.length };
  end(batch, answers.some(({ status }) => status === undefined) ? "expired" : "completed", call.now);
}

function lineOf({ customId, status, body }: BatchAnswer, batch: HeldCompatBatch, index: number): string {
  const id = `${idOf("batch_req_", batch.serial)}_${index}`;
  const head = `{"id":"${id}","custom_id":${JSON.stringify(customId)}`;
  if (status === undefined) {
    const error = { code: "batch_expired", message: "This request could not be executed before the batch expired." };
    return `${head},"response":null,"error":${JSON.stringify(error)}}`;
  }
  return `${head},"response":{"status_code":${status},"request_id":"${id}","body":${body}},"error":null}`;
}

function shown(batch: HeldCompatBatch) {
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
