/**
 * State of the simulated MCP servers: number of changes of their lists, and tasks. The number of tasks is bounded; the
 * oldest one is dropped first.
 */

import { createEventNotifier, type EventNotifier } from "../agents/event-notifier.ts";
import type { JsonObject } from "../json-fields.ts";

export type Change =
  | { readonly kind: "tools" }
  | { readonly kind: "resource"; readonly uri: string }
  | { readonly kind: "task"; readonly id: string };

export interface McpTask {
  readonly id: string;
  readonly createdMs: number;
  readonly durationMs: number;
  /** Result of the tool, available when the task ends. */
  readonly result: JsonObject;
  cancelledMs: number | undefined;
}

export interface McpState {
  /** Notifications of all servers; each reaches the listeners of all. */
  readonly notifier: EventNotifier<Change>;
  readonly tasks: Map<string, McpTask>;
  /** Number of changes of the list of tools. */
  changes: number;
}

const MAX_TASKS = 1_000;

export function createMcpState(): McpState {
  return { notifier: createEventNotifier(), tasks: new Map(), changes: 0 };
}

export function addTask({ tasks }: McpState, task: McpTask): void {
  tasks.set(task.id, task);
  for (const oldest of tasks.keys()) {
    if (tasks.size <= MAX_TASKS) break;
    tasks.delete(oldest);
  }
}

export function changeTools(state: McpState): void {
  state.changes += 1;
  state.notifier.notify({ kind: "tools" });
}
