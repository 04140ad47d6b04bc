/**
 * Tasks of the simulated agent. A task is a plan: steps with their times, relative to its beginning. Its state at a
 * moment follows from the plan and the time, so nothing runs between requests. The number of tasks is bounded; the
 * oldest one is dropped first.
 */

import type { ServerResponse } from "node:http";
import { createEventNotifier, type EventNotifier } from "../agents/event-notifier.ts";
import type { JsonObject } from "../json-fields.ts";

export type State =
  | "SUBMITTED"
  | "WORKING"
  | "INPUT_REQUIRED"
  | "AUTH_REQUIRED"
  | "COMPLETED"
  | "FAILED"
  | "CANCELED"
  | "REJECTED";

export type Step =
  | { readonly atMs: number; readonly kind: "status"; readonly state: State; readonly message?: string }
  | {
      readonly atMs: number;
      readonly kind: "artifact";
      readonly id: string;
      readonly name: string;
      readonly parts: readonly JsonObject[];
      /** True if the parts are appended to the existing artifact. */
      readonly isAppended: boolean;
      readonly isLast: boolean;
    };

export interface Task {
  readonly id: string;
  readonly contextId: string;
  /** Creation time in milliseconds since 1970; the times of steps are relative to it. */
  readonly createdMs: number;
  /** Messages of the caller. */
  readonly messages: JsonObject[];
  /** Steps by time. A task that waits for input gets further ones later. */
  readonly steps: Step[];
}

export interface A2aState {
  readonly tasks: Map<string, Task>;
  /** Notifies listeners, by the task's id, that a task was cancelled or got further steps. */
  readonly notifier: EventNotifier<string>;
}

const MAX_TASKS = 1_000;

const ENDS: ReadonlySet<State> = new Set(["COMPLETED", "FAILED", "CANCELED", "REJECTED"]);
const WAITS: ReadonlySet<State> = new Set(["INPUT_REQUIRED", "AUTH_REQUIRED"]);

export const isEnd = (state: State): boolean => ENDS.has(state);
const isPause = (state: State): boolean => ENDS.has(state) || WAITS.has(state);

export function createA2aState(): A2aState {
  return { tasks: new Map(), notifier: createEventNotifier() };
}

export function addTask({ tasks }: A2aState, task: Task): void {
  tasks.set(task.id, task);
  for (const oldest of tasks.keys()) {
    if (tasks.size <= MAX_TASKS) break;
    tasks.delete(oldest);
  }
}

/** Returns the state of a task at a moment. */
export function stateAt({ steps, createdMs }: Task, nowMs: number): State {
  let state: State = "SUBMITTED";
  for (const step of steps) if (step.kind === "status" && createdMs + step.atMs <= nowMs) state = step.state;
  return state;
}

/** Cancels a task by removing its future steps. */
export function cancel({ notifier }: A2aState, task: Task, nowMs: number): void {
  const atMs = nowMs - task.createdMs;
  const pastSteps = task.steps.filter((step) => step.atMs <= atMs);
  task.steps.splice(0, task.steps.length, ...pastSteps, {
    atMs,
    kind: "status",
    state: "CANCELED",
    message: "Cancelled.",
  });
  notifier.notify(task.id);
}

/** Adds steps to a task, beginning now. */
export function appendSteps({ notifier }: A2aState, task: Task, added: readonly Step[], nowMs: number): void {
  const elapsedMs = nowMs - task.createdMs;
  task.steps.push(...added.map((step) => ({ ...step, atMs: elapsedMs + step.atMs })));
  notifier.notify(task.id);
}

/**
 * Yields each step from `fromMs` on, relative to the task's beginning, at its time. Ends with the first step that ends
 * the task or makes it wait, or when the client leaves.
 */
export async function* upcomingSteps(
  { notifier }: A2aState,
  task: Task,
  fromMs: number,
  response: ServerResponse,
): AsyncGenerator<Step> {
  const subscription = notifier.listen(response);
  let at = task.steps.findIndex(({ atMs }) => atMs >= fromMs);
  try {
    while (at >= 0) {
      const step = task.steps[at];
      if (step === undefined) return;
      const waitMs = task.createdMs + step.atMs - Date.now();
      if (waitMs > 0) {
        // Any notification may have changed the next step.
        if ((await subscription.next(waitMs)).kind === "gone") return;
        continue;
      }
      yield step;
      if (step.kind === "status" && isPause(step.state)) return;
      at += 1;
    }
  } finally {
    subscription.end();
  }
}
