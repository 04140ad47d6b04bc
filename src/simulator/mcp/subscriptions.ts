/** Answers `subscriptions/listen`: a stream of change notifications until its client leaves. */

import { notificationText } from "../agents/json-rpc-answers.ts";
import { arrayOf, EMPTY_OBJECT, type JsonObject, objectOf, stringOf } from "../json-fields.ts";
import { frameOf, type McpCall } from "./mcp-call.ts";
import type { Change, McpState } from "./mcp-state.ts";
import { taskJson } from "./mcp-tasks.ts";
import type { McpRequest } from "./parse-mcp-message.ts";

const KEEP_ALIVE_MS = 15_000;
const MAX_SUBSCRIPTIONS = 100;

export async function* streamNotifications(
  { id, params }: McpRequest,
  { state, response }: McpCall,
): AsyncGenerator<string> {
  const requested = objectOf(params["notifications"]) ?? EMPTY_OBJECT;
  const [uris, taskIds] = [textsOf(requested, "resourceSubscriptions"), textsOf(requested, "taskIds")];
  const tag = { _meta: { "io.modelcontextprotocol/subscriptionId": id } };
  const accepted: JsonObject = Object.fromEntries(
    Object.entries({
      toolsListChanged: requested["toolsListChanged"] === true,
      promptsListChanged: requested["promptsListChanged"] === true,
      resourcesListChanged: requested["resourcesListChanged"] === true,
      resourceSubscriptions: uris,
      taskIds,
    }).filter(([, value]) => (Array.isArray(value) ? value.length > 0 : value === true)),
  );
  const subscription = state.notifier.listen(response);
  const running = new Set(taskIds.filter((task) => state.tasks.has(task)));
  try {
    yield frameOf(notificationText("notifications/subscriptions/acknowledged", { notifications: accepted, ...tag }));
    for (;;) {
      const received = await subscription.next(Math.min(KEEP_ALIVE_MS, msUntilNextEnd(running, state)));
      if (received.kind === "gone") return;
      const notification = received.kind === "event" ? notificationFor(received.event, accepted, uris) : undefined;
      if (notification !== undefined)
        yield frameOf(notificationText(notification.method, { ...notification.params, ...tag }));
      let isNotified = notification !== undefined;
      for (const task of endedTasks(running, state)) {
        running.delete(task);
        const endedTask = state.tasks.get(task);
        if (endedTask === undefined) continue;
        isNotified = true;
        yield frameOf(notificationText("notifications/tasks", { ...taskJson(endedTask, Date.now()), ...tag }));
      }
      if (!isNotified && received.kind === "late") yield ":\n\n";
    }
  } finally {
    subscription.end();
  }
}

function notificationFor(
  change: Change,
  accepted: JsonObject,
  uris: readonly string[],
): { readonly method: string; readonly params: JsonObject } | undefined {
  if (change.kind === "tools") {
    return accepted["toolsListChanged"] === true
      ? { method: "notifications/tools/list_changed", params: {} }
      : undefined;
  }
  return change.kind === "resource" && uris.includes(change.uri)
    ? { method: "notifications/resources/updated", params: { uri: change.uri } }
    : undefined;
}

function endedTasks(running: ReadonlySet<string>, { tasks }: McpState): readonly string[] {
  return [...running].filter((id) => {
    const task = tasks.get(id);
    return task === undefined || task.cancelledMs !== undefined || Date.now() >= task.createdMs + task.durationMs;
  });
}

function msUntilNextEnd(running: ReadonlySet<string>, { tasks }: McpState): number {
  const remainingMs = [...running].map((id) => {
    const task = tasks.get(id);
    return task === undefined ? 0 : task.createdMs + task.durationMs - Date.now();
  });
  return Math.max(0, Math.min(Number.POSITIVE_INFINITY, ...remainingMs));
}

function textsOf(requested: JsonObject, name: string): readonly string[] {
  return (arrayOf(requested[name]) ?? [])
    .map(stringOf)
    .filter((text) => text !== undefined)
    .slice(0, MAX_SUBSCRIPTIONS);
}
