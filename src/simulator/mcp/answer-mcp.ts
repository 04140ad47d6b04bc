/** Answers of the simulated MCP server: revision 2026-07-28, or an older one if its name selects that. */

import type { IncomingHttpHeaders } from "node:http";
import { deformText } from "../agents/deform-answer.ts";
import { notificationText, RpcError, resultText, streamAnswer } from "../agents/json-rpc-answers.ts";
import type { AgentDeviations } from "../agents/quirks.ts";
import { applyTextFault } from "../answer-text.ts";
import { pause } from "../http-exchange.ts";
import { EMPTY_OBJECT, type JsonObject, objectOf } from "../json-fields.ts";
import { type Answer, json, NO_TOKENS } from "../route-types.ts";
import { cacheHints, page, toolList } from "./cursor-pages.ts";
import { answerEarlierRevision } from "./earlier-revision.ts";
import { frameOf, type McpCall } from "./mcp-call.ts";
import { addTask, changeTools } from "./mcp-state.ts";
import { cancelTask, getTask, newTaskResult, TASKS, updateTask } from "./mcp-tasks.ts";
import { checkMirrors, invalid, type McpRequest, parseMcp, VERSION } from "./parse-mcp-message.ts";
import { complete, getPrompt, PROMPTS, RESOURCES, readResource, TEMPLATES } from "./resources-and-prompts.ts";
import {
  FAULTY_TOOL,
  failedAnswer,
  missingCapability,
  type Step,
  TOOLS,
  type ToolAnswer,
  textAnswer,
  WrongArguments,
} from "./simulated-tools.ts";
import { streamNotifications } from "./subscriptions.ts";

const SERVER_INFO: JsonObject = { name: "simulated-server", title: "Simulated MCP server", version: "1.0.0" };

const CAPABILITIES: JsonObject = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
  extensions: { [TASKS]: {} },
};

/** Answers a request to the server. Throws `RpcError`. */
export function answerMcp(call: McpCall): Answer | Promise<Answer> {
  const { quirks } = call.deviations;
  if (quirks.has("old-session") || quirks.has("old-result"))
    return answerEarlierRevision(call, CAPABILITIES, SERVER_INFO);
  const message = parseMcp(call.headers, call.text);
  if (message.kind === "notification") {
    return { kind: "body", status: 202, contentType: "", body: "", tokens: NO_TOKENS };
  }
  if (message.method === "subscriptions/listen") return streamAnswer(streamNotifications(message, call), "");
  if (message.method === "tools/call") return callTool(message, call);
  return wholeAnswer(message, resultOf(message, call), call);
}

function resultOf({ method, params, capabilities }: McpRequest, { deviations, state }: McpCall): JsonObject {
  const say = (text: string): string => applyTextFault(deviations.fault, () => text);
  switch (method) {
    case "server/discover":
      return {
        supportedVersions: [VERSION],
        capabilities: CAPABILITIES,
        instructions: "A simulated server, for trying things. Its tools touch nothing.",
        ...cacheHints(deviations),
      };
    case "tools/list":
      if (deviations.quirks.has("list-changes")) changeTools(state);
      return page("tools", toolList(deviations, state), params, deviations);
    case "resources/list":
      return page("resources", RESOURCES, params, deviations);
    case "resources/templates/list":
      return page("resourceTemplates", TEMPLATES, params, deviations);
    case "prompts/list":
      return page("prompts", PROMPTS, params, deviations);
    case "resources/read":
      return { ...readResource(params, say), ...cacheHints(deviations) };
    case "prompts/get":
      return getPrompt(params, say);
    case "completion/complete":
      return complete(params);
    case "tasks/get":
    case "tasks/update":
    case "tasks/cancel": {
      if (objectOf(capabilities["extensions"])?.[TASKS] === undefined) {
        throw missingCapability({ extensions: { [TASKS]: {} } });
      }
      const taskOperation = method === "tasks/get" ? getTask : method === "tasks/cancel" ? cancelTask : updateTask;
      return taskOperation(state, params, Date.now());
    }
    default:
      throw new RpcError(-32_601, "Method not found", { status: 404 });
  }
}

async function callTool(request: McpRequest, call: McpCall): Promise<Answer> {
  const { deviations, state, headers, response, serial } = call;
  const answer = toolAnswer(request, call);
  if (answer.kind === "touched") state.notifier.notify({ kind: "resource", uri: answer.uri });
  if (answer.kind !== "steps") return wholeAnswer(request, answer.result, call);
  const { steps, result } = answer;
  const totalMs = steps.reduce((sum, { afterMs }) => sum + afterMs, 0);
  if (objectOf(request.capabilities["extensions"])?.[TASKS] !== undefined) {
    const task = { id: `task-${serial}`, createdMs: Date.now(), durationMs: totalMs, result, cancelledMs: undefined };
    addTask(state, task);
    return wholeAnswer(request, newTaskResult(task), call);
  }
  const reportsProgress = request.progressToken !== undefined || request.logLevel !== undefined;
  if (reportsProgress && acceptsStream(headers))
    return streamAnswer(progress(request, steps, result, call), failureOf(request));
  await pause(response, totalMs);
  return wholeAnswer(request, result, { ...call, deviations });
}

function toolAnswer(request: McpRequest, { deviations, headers }: McpCall): ToolAnswer {
  const { params } = request;
  const tool = TOOLS.find(({ name }) => name === params["name"]);
  const say = (text: string): string => applyTextFault(deviations.fault, () => text);
  const isFaulty = deviations.fault.kind !== "none" || deviations.quirks.size > 0;
  if (tool === undefined && isFaulty && String(params["name"]).startsWith("sim-")) return textAnswer(say(FAULTY_TOOL));
  if (tool === undefined) throw invalid(`there is no tool ${JSON.stringify(params["name"])?.slice(0, 80)}`);
  const args = objectOf(params["arguments"]) ?? EMPTY_OBJECT;
  checkMirrors(headers, tool.inputSchema, args);
  if (deviations.quirks.has("tool-error")) return failedAnswer("The server's name asked for a tool that fails.");
  try {
    return tool.run({ ...request, args }, say);
  } catch (error) {
    if (error instanceof WrongArguments) return failedAnswer(error.message);
    throw error;
  }
}

async function* progress(
  request: McpRequest,
  steps: readonly Step[],
  result: JsonObject,
  { response, deviations }: McpCall,
): AsyncGenerator<string> {
  for (const [index, { afterMs, message }] of steps.entries()) {
    if (!(await pause(response, afterMs))) return;
    if (request.progressToken !== undefined) {
      const params = { progressToken: request.progressToken, progress: index + 1, total: steps.length, message };
      yield frameOf(notificationText("notifications/progress", params));
    }
    if (request.logLevel === "debug" || request.logLevel === "info") {
      yield frameOf(notificationText("notifications/message", { level: "info", logger: "report", data: message }));
    }
  }
  yield frameOf(deformText(completedText(request, result, deviations), deviations.quirks));
}

/** Returns one JSON body, or a stream of one event if that is requested. */
function wholeAnswer(request: McpRequest, result: JsonObject, { deviations, headers }: McpCall): Answer {
  const text = deformText(completedText(request, result, deviations), deviations.quirks);
  const wantsStream =
    deviations.quirks.has("stream") || deviations.quirks.has("twice") || deviations.quirks.has("split");
  return wantsStream && acceptsStream(headers) ? streamAnswer([frameOf(text)], failureOf(request)) : json(text);
}

function completedText({ id }: McpRequest, result: JsonObject, { quirks }: AgentDeviations): string {
  const _meta = { "io.modelcontextprotocol/serverInfo": SERVER_INFO };
  return resultText(quirks.has("other-id") ? "another" : id, { resultType: "complete", ...result, _meta });
}

function failureOf({ id }: McpRequest): string {
  const error = { code: -32_603, message: "The name requested an error." };
  return frameOf(JSON.stringify({ jsonrpc: "2.0", id, error }));
}

function acceptsStream({ accept }: IncomingHttpHeaders): boolean {
  return accept?.includes("text/event-stream") === true;
}
