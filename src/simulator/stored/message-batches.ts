/**
 * Answers `/v1/messages/batches`. A batch is `in_progress` when it is created and at its first retrieval, and `ended`
 * at the second, when its requests are answered. An invalid request becomes an error in its own result.
 *
 * Source: the types and the client code of the official SDK.
 */

import { Refused } from "../dialect-errors.ts";
import { type JsonObject, objectOf, objectsOf, stringOf } from "../json-fields.ts";
import { type Answer, idOf, json, NO_TOKENS, type RoutedCall } from "../route-types.ts";
import { MESSAGES } from "../rules/messages-wording.ts";
import { dictionary, list, object, text } from "../rules/shape-rules.ts";
import { messagesPage } from "./list-pages.ts";
import { type BatchAnswer, runBatch } from "./run-batch.ts";
import { newBatch, type StoredMessageBatch } from "./stored-objects.ts";

const MAX_REQUESTS = 100_000;
const DAY_MS = 86_400_000;

const rule = object(
  {
    requests: list(
      object({ custom_id: text({ min: 1, max: 64, pattern: /^[a-zA-Z0-9_-]{1,64}$/ }), params: dictionary }, [
        "custom_id",
        "params",
      ]),
      { min: 1, max: MAX_REQUESTS },
    ),
  },
  ["requests"],
);

const NO_COUNTS: StoredMessageBatch["counts"] = { processing: 0, succeeded: 0, errored: 0, canceled: 0, expired: 0 };

export function createMessageBatch(call: RoutedCall): Answer {
  const { body, stored, serial, now, byteCount } = call;
  rule(body, "", MESSAGES);
  const requests = objectsOf(body["requests"]);
  if (new Set(requests.map((each) => each["custom_id"])).size < requests.length) {
    throw new Refused(400, "requests: Every `custom_id` must be unique within the batch");
  }
  const batch: StoredMessageBatch = {
    ...newBatch(idOf("msgbatch_", serial), serial, now),
    requests,
    counts: { ...NO_COUNTS, processing: requests.length },
    results: "",
  };
  stored.messageBatches.put(batch.id, batch, byteCount);
  return json(JSON.stringify(shown(call, batch)));
}

export async function answerMessageBatch(call: RoutedCall): Promise<Answer> {
  const batch = batchOf(call);
  batch.polls += 1;
  if (batch.endedAt === undefined && (batch.polls > 1 || batch.isCanceling)) {
    batch.work ??= complete(call, batch);
    await batch.work;
  }
  return json(JSON.stringify(shown(call, batch)));
}

export function listMessageBatches(call: RoutedCall): Answer {
  return messagesPage(
    call.stored.messageBatches.values().map((batch) => shown(call, batch)),
    call.query,
  );
}

export function cancelMessageBatch(call: RoutedCall): Answer {
  const batch = batchOf(call);
  if (batch.endedAt !== undefined || batch.work !== undefined) {
    throw new Refused(400, "The batch has ended and cannot be canceled.");
  }
  batch.isCanceling = true;
  return json(JSON.stringify(shown(call, batch)));
}

export function deleteMessageBatch(call: RoutedCall): Answer {
  const { id, endedAt } = batchOf(call);
  if (endedAt === undefined) throw new Refused(400, "The batch is still processing; cancel it first.");
  call.stored.messageBatches.remove(id);
  return json(JSON.stringify({ id, type: "message_batch_deleted" }));
}

export function answerMessageBatchResults(call: RoutedCall): Answer {
  const { endedAt, results } = batchOf(call);
  if (endedAt === undefined) throw new Refused(404, "The batch has no results: it has not ended.");
  return { kind: "body", contentType: "application/x-jsonl", body: results, tokens: NO_TOKENS };
}

function batchOf({ stored, params: { id = "" } }: RoutedCall): StoredMessageBatch {
  const batch = stored.messageBatches.get(id);
  if (batch !== undefined) return batch;
  throw new Refused(404, `No message batch has the id '${id.slice(0, 64)}'.`);
}

type Outcome = Exclude<keyof StoredMessageBatch["counts"], "processing">;

async function complete(call: RoutedCall, batch: StoredMessageBatch): Promise<void> {
  const requests = batch.requests.map((request) => ({
    customId: stringOf(request["custom_id"]) ?? "",
    path: "/v1/messages",
    body: objectOf(request["params"]) ?? ({} as JsonObject),
  }));
  const counts = { ...NO_COUNTS };
  const lines: string[] = [];
  const add = (customId: string, outcome: Outcome, rest: string): void => {
    counts[outcome] += 1;
    lines.push(`{"custom_id":${JSON.stringify(customId)},"result":{"type":"${outcome}"${rest}}}\n`);
  };
  if (batch.isCanceling) for (const { customId } of requests) add(customId, "canceled", "");
  else for (const answer of await runBatch(call, requests)) add(answer.customId, ...outcomeOf(answer));
  batch.results = lines.join("");
  batch.requests = [];
  batch.counts = counts;
  batch.endedAt = call.now;
  // The batch may have been dropped meanwhile.
  if (call.stored.messageBatches.get(batch.id) === batch) {
    call.stored.messageBatches.put(batch.id, batch, batch.results.length);
  }
}

function outcomeOf({ status, body }: BatchAnswer): [Outcome, string] {
  if (status === undefined) return ["expired", ""];
  return status < 300 ? ["succeeded", `,"message":${body}`] : ["errored", `,"error":${body}`];
}

function shown({ headers }: RoutedCall, batch: StoredMessageBatch) {
  const { id, createdAt, endedAt, isCanceling, counts } = batch;
  const time = (seconds: number): string => new Date(seconds * 1_000).toISOString();
  const isEnded = endedAt !== undefined;
  return {
    id,
    type: "message_batch",
    processing_status: isEnded ? "ended" : isCanceling ? "canceling" : "in_progress",
    request_counts: counts,
    created_at: time(createdAt),
    ended_at: isEnded ? time(endedAt) : null,
    expires_at: new Date(createdAt * 1_000 + DAY_MS).toISOString(),
    archived_at: null,
    cancel_initiated_at: isCanceling ? time(endedAt ?? createdAt) : null,
    results_url: isEnded ? `http://${headers.host ?? "localhost"}/v1/messages/batches/${id}/results` : null,
  };
}
