/**
 * Runs the action of a confirmed dialog. Each request has its own idempotency key; a request with an unknown outcome is sent
 * again under the same key, so that it is applied at most once.
 */

import { randomUUID } from "node:crypto";
import type { AdminClient } from "../../admin-api/index.ts";
import type { Action, Outcome } from "../model/action.ts";
import type { JobRequest, SingleTask, Task } from "../model/dialog.ts";
import { hasUnknownOutcome } from "./failure-text.ts";

/** Time limit in milliseconds; longer than a gateway's search for a leader. */
const TIME_LIMIT_MS = 30_000;

interface TaskOptions {
  readonly client: AdminClient;
  readonly signal: AbortSignal;
  /** Idempotency keys of requests with an unknown outcome, by the JSON text of the request. */
  readonly unsettled: Map<string, string>;
  job(request: JobRequest, onProgress: (text: string) => void): Promise<string>;
  onProgress(text: string): void;
  /** Returns the type of a secret in the text, like `ConsolePorts.secretIn`. */
  secretIn(text: string): Promise<string | undefined>;
}

/** Runs an action. Rejects with the first error; with `TaskFailed` if earlier steps had succeeded. */
export async function runTask(task: Task, options: TaskOptions): Promise<Outcome> {
  if (task.kind !== "steps") return await runSingle(task, options);
  const texts: string[] = [];
  for (const step of task.steps) {
    try {
      texts.push((await runSingle(step, options)).message);
    } catch (cause) {
      if (texts.length === 0) throw cause;
      throw new TaskFailed(`${texts.join("; ")}; then: ${messageOf(cause)}`, { cause });
    }
  }
  return { message: texts.join("; ") };
}

async function runSingle(task: SingleTask, options: TaskOptions): Promise<Outcome> {
  switch (task.kind) {
    case "actions":
      return await runActions(task.actions, options);
    case "job":
      return { message: await options.job(task.job, options.onProgress) };
    default:
      return task satisfies never;
  }
}

/** Error after some steps had succeeded. */
export class TaskFailed extends Error {
  override readonly name = "TaskFailed";
}

async function runActions(actions: readonly Action[], options: TaskOptions): Promise<Outcome> {
  const { onProgress } = options;
  for (const action of actions) await refuseSecret(action, options);
  let last: Outcome | undefined;
  for (const [at, action] of actions.entries()) {
    if (actions.length > 1) onProgress(`${at + 1} of ${actions.length}`);
    try {
      last = await runAction(action, options);
    } catch (cause) {
      if (at === 0) throw cause;
      throw new TaskFailed(`${at} of ${actions.length} done, then ${action.request.path}: ${messageOf(cause)}`, {
        cause,
      });
    }
  }
  if (last === undefined) return { message: "nothing to do" };
  return actions.length === 1 ? last : { message: `${actions.length} done; the last: ${last.message}` };
}

/** Refuses a reason that contains a secret before it is sent: the gateway would refuse it too, but only after receiving it. */
async function refuseSecret({ request: { body } }: Action, { secretIn }: TaskOptions): Promise<void> {
  const reason: unknown = typeof body === "object" && body !== null ? Reflect.get(body, "reason") : undefined;
  const type = typeof reason === "string" ? await secretIn(reason) : undefined;
  if (type === undefined) return;
  throw new Error(
    `the reason seems to contain a secret (${type}), and others read it, so nothing was sent; remove it, or use its public id`,
  );
}

async function runAction(action: Action, { client, signal, unsettled }: TaskOptions): Promise<Outcome> {
  const asked = JSON.stringify(action.request);
  const idempotencyKey = unsettled.get(asked) ?? randomUUID();
  try {
    const outcome = await action.run(client, { signal, timeLimitMs: TIME_LIMIT_MS, idempotencyKey });
    unsettled.delete(asked);
    return outcome;
  } catch (error) {
    if (hasUnknownOutcome(error)) unsettled.set(asked, idempotencyKey);
    else unsettled.delete(asked);
    throw error;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
