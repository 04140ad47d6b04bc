/** Answers `subscriptions/listen`: a stream of change notifications until its client leaves. */

import { notificationText } from "../agents/rpc.ts";
import { arrayOf, EMPTY_OBJECT, type JsonObject, objectOf, stringOf } from "../json.ts";
import { frameOf, type McpCall } from "./call.ts";
import type { McpRequest } from "./read.ts";
import type { McpState, Notice } from "./state.ts";
import { factsOf } from "./tasks.ts";

const KEEP_ALIVE_MS = 15_000;
const MAX_WATCHED = 100;

export async function* listen({ id, params }: McpRequest, { state, response }: McpCall): AsyncGenerator<string> {
  const wanted = objectOf(params["notifications"]) ?? EMPTY_OBJECT;
  const [uris, taskIds] = [textsOf(wanted, "resourceSubscriptions"), textsOf(wanted, "taskIds")];
  const tag = { _meta: { "io.modelcontextprotocol/subscriptionId": id } };
  const honoured: JsonObject = Object.fromEntries(
    Object.entries({
      toolsListChanged: wanted["toolsListChanged"] === true,
      promptsListChanged: wanted["promptsListChanged"] === true,
      resourcesListChanged: wanted["resourcesListChanged"] === true,
      resourceSubscriptions: uris,
      taskIds,
    }).filter(([, value]) => (Array.isArray(value) ? value.length > 0 : value === true)),
  );
  const listening = state.notifier.listen(response);
  const running = new Set(taskIds.filter((task) => state.tasks.has(task)));
  try {
    yield frameOf(notificationText("notifications/subscriptions/acknowledged", { notifications: honoured, ...tag }));
    for (;;) {
      const heard = await listening.next(Math.min(KEEP_ALIVE_MS, untilDone(running, state)));
      if (heard.kind === "gone") return;
      const change = heard.kind === "event" ? tell(heard.event, honoured, uris) : undefined;
      if (change !== undefined) yield frameOf(notificationText(change.method, { ...change.params, ...tag }));
      let isNotified = change !== undefined;
      for (const task of endedOf(running, state)) {
        running.delete(task);
        const made = state.tasks.get(task);
        if (made === undefined) continue;
        isNotified = true;
        yield frameOf(notificationText("notifications/tasks", { ...factsOf(made, Date.now()), ...tag }));
      }
      if (!isNotified && heard.kind === "late") yield ":\n\n";
    }
  } finally {
    listening.end();
  }
}

function tell(
  notice: Notice,
  honoured: JsonObject,
  uris: readonly string[],
): { readonly method: string; readonly params: JsonObject } | undefined {
  if (notice.kind === "tools") {
    return honoured["toolsListChanged"] === true
      ? { method: "notifications/tools/list_changed", params: {} }
      : undefined;
  }
  return notice.kind === "resource" && uris.includes(notice.uri)
    ? { method: "notifications/resources/updated", params: { uri: notice.uri } }
    : undefined;
}

function endedOf(running: ReadonlySet<string>, { tasks }: McpState): readonly string[] {
  return [...running].filter((id) => {
    const task = tasks.get(id);
    return task === undefined || task.cancelledMs !== undefined || Date.now() >= task.createdMs + task.durationMs;
  });
}

function untilDone(running: ReadonlySet<string>, { tasks }: McpState): number {
  const left = [...running].map((id) => {
    const task = tasks.get(id);
    return task === undefined ? 0 : task.createdMs + task.durationMs - Date.now();
  });
  return Math.max(0, Math.min(Number.POSITIVE_INFINITY, ...left));
}

function textsOf(wanted: JsonObject, name: string): readonly string[] {
  return (arrayOf(wanted[name]) ?? [])
    .map(stringOf)
    .filter((text) => text !== undefined)
    .slice(0, MAX_WATCHED);
}
