/** Answers of the simulated agent: A2A 1.0 over JSON-RPC, or 0.3 if its name asks for that. */

import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { deformText } from "../agents/deform-answer.ts";
import { RpcError, resultText, streamAnswer } from "../agents/json-rpc-answers.ts";
import type { AgentDeviations } from "../agents/quirks.ts";
import { applyTextFault } from "../answer-text.ts";
import { integerOf, type JsonObject, objectOf, stringOf } from "../json-fields.ts";
import { type Answer, idOf, json } from "../route-types.ts";
import { type AgentAction, actionFor, stepsAfterAnswer } from "./agent-skills.ts";
import {
  type A2aState,
  addTask,
  appendSteps,
  cancel,
  isEnd,
  type State,
  stateAt,
  type Task,
  upcomingSteps,
} from "./agent-tasks.ts";
import {
  type A2aRequest,
  a2aError,
  invalid,
  parseA2a,
  parseMessage,
  parseRpc,
  type UserMessage,
} from "./parse-a2a-request.ts";
import { type CardPlace, extendedCard } from "./simulated-card.ts";
import { stepShape, taskShape } from "./task-json.ts";

export interface A2aCall {
  readonly headers: IncomingHttpHeaders;
  /** Text of the body; `undefined` if it is not text. */
  readonly text: string | undefined;
  readonly deviations: AgentDeviations;
  readonly state: A2aState;
  readonly place: CardPlace;
  readonly response: ServerResponse;
  readonly serial: number;
}

const MAX_PAGE_SIZE = 100;
const DEFAULT_PAGE_SIZE = 50;

/** Answers a request to the agent. Throws `RpcError`. */
export async function answerA2a(call: A2aCall): Promise<Answer> {
  const { deviations } = call;
  if (deviations.quirks.has("old")) return answerOld(call);
  const request = parseA2a(call.headers, call.text);
  switch (request.method) {
    case "SendStreamingMessage":
      return streamMessage(request, call);
    case "SubscribeToTask": {
      const task = findTask(call.state, request.params);
      if (isEnd(stateAt(task, Date.now()))) throw unsupported("The task has ended.");
      return stream(request, call, task, Date.now());
    }
    default:
      return wholeAnswer(request, await resultOf(request, call), call);
  }
}

async function resultOf({ method, params }: A2aRequest, call: A2aCall): Promise<JsonObject> {
  const { state, deviations, place } = call;
  switch (method) {
    case "SendMessage":
      return sendMessage(params, call);
    case "GetTask":
      return taskShape(findTask(state, params), Date.now(), lengthOf(params));
    case "ListTasks":
      return listTasks(state, params);
    case "CancelTask": {
      const task = findTask(state, params);
      if (isEnd(stateAt(task, Date.now()))) throw a2aError(-32_002, "TASK_NOT_CANCELABLE", "The task has ended.");
      cancel(state, task, Date.now());
      return taskShape(task, Date.now());
    }
    case "CreateTaskPushNotificationConfig":
    case "GetTaskPushNotificationConfig":
    case "ListTaskPushNotificationConfigs":
    case "DeleteTaskPushNotificationConfig":
      throw a2aError(-32_003, "PUSH_NOTIFICATION_NOT_SUPPORTED", "Push Notification is not supported");
    case "GetExtendedAgentCard":
      if (deviations.quirks.has("extended")) return extendedCard(place, deviations.quirks);
      throw a2aError(-32_004, "UNSUPPORTED_OPERATION", "The card declares no extended one.");
    default:
      throw new RpcError(-32_601, "Method not found");
  }
}

/** Answers when the task ends or needs input, or at once if the caller does not want to wait. */
async function sendMessage(params: JsonObject, call: A2aCall): Promise<JsonObject> {
  const action = startAction(params, call);
  const { quirks } = call.deviations;
  if (action.kind === "message")
    return quirks.has("old-result") ? { kind: "message", ...action.message } : { message: action.message };
  const { task } = action;
  const configuration = objectOf(params["configuration"]);
  if (configuration?.["returnImmediately"] !== true) {
    for await (const _ of upcomingSteps(call.state, task, action.fromMs, call.response));
  }
  const shape = taskShape(task, Date.now(), integerOf(configuration?.["historyLength"]));
  return quirks.has("old-result") ? { kind: "task", ...shape } : { task: shape };
}

type StartedAction =
  | { readonly kind: "message"; readonly message: JsonObject }
  /** `fromMs` is the time of the first new step, relative to the task's beginning. */
  | { readonly kind: "task"; readonly task: Task; readonly fromMs: number };

function startAction(params: JsonObject, { deviations, state, serial }: A2aCall): StartedAction {
  const userMessage = parseMessage(params);
  const push = objectOf(params["configuration"])?.["taskPushNotificationConfig"];
  if (push !== undefined)
    throw a2aError(-32_003, "PUSH_NOTIFICATION_NOT_SUPPORTED", "Push Notification is not supported");
  const say = (text: string): string => applyTextFault(deviations.fault, () => text);
  if (userMessage.taskId !== undefined) return continueTask(userMessage, userMessage.taskId, state, say);
  const contextId = userMessage.contextId ?? idOf("context-", serial);
  const action: AgentAction = actionFor(userMessage, deviations.quirks, say);
  if (action.kind === "message") {
    const messageId = idOf("message-", serial);
    return { kind: "message", message: { messageId, contextId, role: "ROLE_AGENT", parts: action.parts } };
  }
  const id = idOf("task-", serial);
  const messages = [{ ...userMessage.message, contextId, taskId: id }];
  const task: Task = { id, contextId, createdMs: Date.now(), messages, steps: [...action.steps] };
  addTask(state, task);
  return { kind: "task", task, fromMs: 0 };
}

function continueTask(
  userMessage: UserMessage,
  id: string,
  state: A2aState,
  say: (text: string) => string,
): StartedAction {
  const task = findTask(state, { id });
  if (userMessage.contextId !== undefined && userMessage.contextId !== task.contextId)
    throw invalid("message.contextId", "is another's");
  const now = Date.now();
  const at: State = stateAt(task, now);
  if (at !== "INPUT_REQUIRED") throw unsupported("The task waits for nothing.");
  task.messages.push({ ...userMessage.message, contextId: task.contextId, taskId: id });
  const fromMs = now - task.createdMs;
  const [last] = task.steps.slice(-1);
  // The new steps come after every earlier step, even within the same millisecond.
  const later = Math.max(fromMs, (last?.atMs ?? 0) + 1);
  appendSteps(state, task, stepsAfterAnswer(userMessage, say), task.createdMs + later);
  return { kind: "task", task, fromMs: later };
}

function streamMessage(request: A2aRequest, call: A2aCall): Answer {
  const started = startAction(request.params, call);
  if (started.kind === "task") return stream(request, call, started.task, undefined, started.fromMs);
  return streamAnswer([frameOf(request, { message: started.message }, call)], failureOf(request));
}

/** Streams a task. `sinceMs`: time of the task's first snapshot; `undefined` for its beginning. */
function stream(
  request: A2aRequest,
  call: A2aCall,
  task: Task,
  sinceMs: number | undefined,
  fromMs = (sinceMs ?? 0) - task.createdMs + 1,
): Answer {
  const frames = async function* (): AsyncGenerator<string> {
    // A new task is sent in the state before its first step.
    const first = sinceMs ?? (fromMs === 0 ? task.createdMs - 1 : task.createdMs + fromMs - 1);
    yield frameOf(request, { task: taskShape(task, first) }, call);
    for await (const step of upcomingSteps(call.state, task, fromMs, call.response)) {
      yield frameOf(request, stepShape(task, step), call);
    }
  };
  return streamAnswer(frames(), failureOf(request));
}

function listTasks(state: A2aState, params: JsonObject): JsonObject {
  const pageSize = integerOf(params["pageSize"]) ?? DEFAULT_PAGE_SIZE;
  if (pageSize < 1 || pageSize > MAX_PAGE_SIZE) throw invalid("pageSize", `must be 1 to ${MAX_PAGE_SIZE}`);
  const token = stringOf(params["pageToken"]) ?? "";
  const from = token === "" ? 0 : /^\d{1,4}$/.test(token) ? Number(token) : Number.NaN;
  if (Number.isNaN(from)) throw invalid("pageToken", "is not one of this list");
  const now = Date.now();
  const [context, wanted] = [stringOf(params["contextId"]), stringOf(params["status"])];
  const isAny = wanted === undefined || wanted === "TASK_STATE_UNSPECIFIED";
  const found = [...state.tasks.values()].filter(
    (task) =>
      (context === undefined || context === "" || task.contextId === context) &&
      (isAny || wanted === `TASK_STATE_${stateAt(task, now)}`),
  );
  const page = found.slice(from, from + pageSize);
  const shapes = page.map((task) => taskShape(task, now, lengthOf(params), params["includeArtifacts"] === true));
  const next = from + pageSize < found.length ? String(from + pageSize) : "";
  return { tasks: shapes, nextPageToken: next, pageSize, totalSize: found.length };
}

/** Answers as an agent of version 0.3, which has none of the methods of 1.0. Source: a2a.md section 7. */
function answerOld(call: A2aCall): Answer {
  const { id, method, params } = parseRpc(call.text);
  if (method !== "message/send") throw new RpcError(-32_601, "Method not found");
  const parts = [{ kind: "text", text: `${JSON.stringify(params["message"] ?? null).length} characters were said.` }];
  return json(resultText(id, { kind: "message", messageId: idOf("message-", call.serial), role: "agent", parts }));
}

function wholeAnswer(request: A2aRequest, result: JsonObject, call: A2aCall): Answer {
  return json(textOf(request, result, call));
}

function textOf({ id }: A2aRequest, result: JsonObject, { deviations: { quirks } }: A2aCall): string {
  return deformText(resultText(quirks.has("other-id") ? "another" : id, result), quirks);
}

function frameOf(request: A2aRequest, result: JsonObject, call: A2aCall): string {
  return `data: ${textOf(request, result, call)}\n\n`;
}

function failureOf({ id }: A2aRequest): string {
  const error = { code: -32_603, message: "The name requested an error." };
  return `event: error\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, error })}\n\n`;
}

function findTask({ tasks }: A2aState, params: JsonObject): Task {
  const id = stringOf(params["id"]);
  if (id === undefined) throw invalid("id", "is needed");
  const task = tasks.get(id);
  if (task === undefined) throw a2aError(-32_001, "TASK_NOT_FOUND", `Task not found: ${id.slice(0, 80)}`);
  return task;
}

const lengthOf = (params: JsonObject): number | undefined => {
  const length = integerOf(params["historyLength"]);
  if (length !== undefined && length < 0) throw invalid("historyLength", "must not be negative");
  return length;
};

const unsupported = (message: string): RpcError => a2aError(-32_004, "UNSUPPORTED_OPERATION", message);
