/** Writes tasks and their events as A2A 1.0 does. Source: a2a.md section 4. */

import type { JsonObject } from "../json-fields.ts";
import { type Step, stateAt, type Task } from "./agent-tasks.ts";

/** Writes a task. `historyLength`: `undefined` includes all messages, 0 none. */
export function taskShape(task: Task, nowMs: number, historyLength?: number, hasArtifacts = true): JsonObject {
  const { id, contextId, createdMs, steps, messages } = task;
  const done = steps.filter(({ atMs }) => createdMs + atMs <= nowMs);
  const last = done.filter((step) => step.kind === "status").at(-1);
  const artifacts = hasArtifacts ? artifactsOf(done) : [];
  const history = historyLength === undefined ? messages : historyLength === 0 ? [] : messages.slice(-historyLength);
  const status = last ?? { atMs: 0, kind: "status", state: stateAt(task, nowMs) };
  return {
    id,
    contextId,
    status: statusShape(task, status),
    ...(artifacts.length > 0 && { artifacts }),
    ...(history.length > 0 && { history }),
  };
}

export function stepShape(task: Task, step: Step): JsonObject {
  const ids = { taskId: task.id, contextId: task.contextId };
  if (step.kind === "status") return { statusUpdate: { ...ids, status: statusShape(task, step) } };
  const artifact = { artifactId: step.id, name: step.name, parts: step.parts };
  return { artifactUpdate: { ...ids, artifact, append: step.isAppended, lastChunk: step.isLast } };
}

function statusShape(task: Task, { atMs, state, message }: Extract<Step, { kind: "status" }>): JsonObject {
  const timestamp = new Date(task.createdMs + atMs).toISOString();
  const shape = { state: `TASK_STATE_${state}`, timestamp };
  if (message === undefined) return shape;
  const { id: taskId, contextId } = task;
  const messageId = `${taskId}-${state.toLowerCase()}-${atMs}`;
  return { ...shape, message: { messageId, contextId, taskId, role: "ROLE_AGENT", parts: [{ text: message }] } };
}

function artifactsOf(done: readonly Step[]): readonly JsonObject[] {
  const artifacts = new Map<string, { readonly name: string; readonly parts: JsonObject[] }>();
  for (const step of done) {
    if (step.kind !== "artifact") continue;
    const known = step.isAppended ? artifacts.get(step.id) : undefined;
    if (known !== undefined) known.parts.push(...step.parts);
    else artifacts.set(step.id, { name: step.name, parts: [...step.parts] });
  }
  return [...artifacts].map(([artifactId, { name, parts }]) => ({ artifactId, name, parts }));
}
