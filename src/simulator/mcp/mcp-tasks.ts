/** Tasks extension of the simulated MCP server. The state of a task follows from the time since it began. */

import { type JsonObject, stringOf } from "../json-fields.ts";
import type { McpState, McpTask } from "./mcp-state.ts";
import { invalid } from "./parse-mcp-message.ts";

export const TASKS = "io.modelcontextprotocol/tasks";

/** Time to live in milliseconds, long enough to inspect a task. A task may be dropped earlier if many others follow. */
const LIFETIME_MS = 3_600_000;
const POLL_MS = 100;

export function newTaskResult(task: McpTask): JsonObject {
  return { resultType: "task", ...taskJson(task, task.createdMs) };
}

export function getTask(state: McpState, params: JsonObject, nowMs: number): JsonObject {
  const task = findTask(state, params);
  const facts = taskJson(task, nowMs);
  return facts["status"] === "completed" ? { ...facts, result: task.result } : facts;
}

export function cancelTask(state: McpState, params: JsonObject, nowMs: number): JsonObject {
  const task = findTask(state, params);
  if (statusOf(task, nowMs) === "working") {
    task.cancelledMs = nowMs;
    state.notifier.notify({ kind: "task", id: task.id });
  }
  return {};
}

/** Accepts any update, since no task asks for input. */
export function updateTask(state: McpState, params: JsonObject): JsonObject {
  findTask(state, params);
  return {};
}

export function taskJson(task: McpTask, nowMs: number): JsonObject {
  const { id, createdMs, durationMs, cancelledMs } = task;
  const updatedMs = cancelledMs ?? Math.min(nowMs, createdMs + durationMs);
  return {
    taskId: id,
    status: statusOf(task, nowMs),
    createdAt: new Date(createdMs).toISOString(),
    lastUpdatedAt: new Date(updatedMs).toISOString(),
    ttlMs: LIFETIME_MS,
    pollIntervalMs: POLL_MS,
  };
}

function statusOf({ createdMs, durationMs, cancelledMs }: McpTask, nowMs: number): string {
  if (cancelledMs !== undefined) return "cancelled";
  return nowMs >= createdMs + durationMs ? "completed" : "working";
}

function findTask({ tasks }: McpState, params: JsonObject): McpTask {
  const task = tasks.get(stringOf(params["taskId"]) ?? "");
  if (task === undefined) throw invalid("there is no such task");
  return task;
}
