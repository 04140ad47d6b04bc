/** Answers of the simulated MCP server: revision 2026-07-28, or an older one if its name selects that. */

import type { IncomingHttpHeaders } from "node:http";
import type { AgentDeviations } from "../agents/quirks.ts";
import { notificationText, RpcError, resultText, streamed } from "../agents/rpc.ts";
import { warpText } from "../agents/warp.ts";
import { pause } from "../exchange.ts";
import { EMPTY_OBJECT, type JsonObject, objectOf } from "../json.ts";
import { type Answer, json, NO_TOKENS } from "../route.ts";
import { textUnderFault } from "../text.ts";
import { frameOf, type McpCall } from "./call.ts";
import { listen } from "./listen.ts";
import { hints, page, toolList } from "./lists.ts";
import { answerOld } from "./old.ts";
import { checkMirrors, invalid, type McpRequest, readMcp, VERSION } from "./read.ts";
import { complete, getPrompt, PROMPTS, RESOURCES, readResource, TEMPLATES } from "./resources.ts";
import { addTask, changeTools } from "./state.ts";
import { cancelTask, getTask, TASKS, taskMade, updateTask } from "./tasks.ts";
import {
  FAULTY_TOOL,
  failed,
  missingCapability,
  type Step,
  TOOLS,
  type ToolAnswer,
  textAnswer,
  WrongArguments,
} from "./tools.ts";

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
  if (quirks.has("old-session") || quirks.has("old-result")) return answerOld(call, CAPABILITIES, SERVER_INFO);
  const message = readMcp(call.headers, call.text);
  if (message.kind === "notification") {
    return { kind: "body", status: 202, contentType: "", body: "", tokens: NO_TOKENS };
  }
  if (message.method === "subscriptions/listen") return streamed(listen(message, call), "");
  if (message.method === "tools/call") return callTool(message, call);
  return whole(message, resultOf(message, call), call);
}

function resultOf({ method, params, capabilities }: McpRequest, { deviations, state }: McpCall): JsonObject {
  const say = (text: string): string => textUnderFault(deviations.fault, () => text);
  switch (method) {
    case "server/discover":
      return {
        supportedVersions: [VERSION],
        capabilities: CAPABILITIES,
        instructions: "A simulated server, for trying things. Its tools touch nothing.",
        ...hints(deviations),
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
      return { ...readResource(params, say), ...hints(deviations) };
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
      const act = method === "tasks/get" ? getTask : method === "tasks/cancel" ? cancelTask : updateTask;
      return act(state, params, Date.now());
    }
    default:
      throw new RpcError(-32_601, "Method not found", { status: 404 });
  }
}

async function callTool(request: McpRequest, call: McpCall): Promise<Answer> {
  const { deviations, state, headers, response, serial } = call;
  const answer = toolAnswer(request, call);
  if (answer.kind === "touched") state.notifier.notify({ kind: "resource", uri: answer.uri });
  if (answer.kind !== "steps") return whole(request, answer.result, call);
  const { steps, result } = answer;
  const totalMs = steps.reduce((sum, { afterMs }) => sum + afterMs, 0);
  if (objectOf(request.capabilities["extensions"])?.[TASKS] !== undefined) {
    const task = { id: `task-${serial}`, createdMs: Date.now(), durationMs: totalMs, result, cancelledMs: undefined };
    addTask(state, task);
    return whole(request, taskMade(task), call);
  }
  const tells = request.progressToken !== undefined || request.logLevel !== undefined;
  if (tells && acceptsStream(headers)) return streamed(progress(request, steps, result, call), failureOf(request));
  await pause(response, totalMs);
  return whole(request, result, { ...call, deviations });
}

function toolAnswer(request: McpRequest, { deviations, headers }: McpCall): ToolAnswer {
  const { params } = request;
  const tool = TOOLS.find(({ name }) => name === params["name"]);
  const say = (text: string): string => textUnderFault(deviations.fault, () => text);
  const isFaulty = deviations.fault.kind !== "none" || deviations.quirks.size > 0;
  if (tool === undefined && isFaulty && String(params["name"]).startsWith("sim-")) return textAnswer(say(FAULTY_TOOL));
  if (tool === undefined) throw invalid(`there is no tool ${JSON.stringify(params["name"])?.slice(0, 80)}`);
  const args = objectOf(params["arguments"]) ?? EMPTY_OBJECT;
  checkMirrors(headers, tool.inputSchema, args);
  if (deviations.quirks.has("tool-error")) return failed("The server's name asked for a tool that fails.");
  try {
    return tool.run({ ...request, args }, say);
  } catch (error) {
    if (error instanceof WrongArguments) return failed(error.message);
    throw error;
  }
}

async function* progress(
  request: McpRequest,
  steps: readonly Step[],
  result: JsonObject,
  { response, deviations }: McpCall,
): AsyncGenerator<string> {
  for (const [index, { afterMs, says }] of steps.entries()) {
    if (!(await pause(response, afterMs))) return;
    if (request.progressToken !== undefined) {
      const params = { progressToken: request.progressToken, progress: index + 1, total: steps.length, message: says };
      yield frameOf(notificationText("notifications/progress", params));
    }
    if (request.logLevel === "debug" || request.logLevel === "info") {
      yield frameOf(notificationText("notifications/message", { level: "info", logger: "report", data: says }));
    }
  }
  yield frameOf(warpText(completed(request, result, deviations), deviations.quirks));
}

/** Returns one JSON body, or a stream of one event if that is requested. */
function whole(request: McpRequest, result: JsonObject, { deviations, headers }: McpCall): Answer {
  const text = warpText(completed(request, result, deviations), deviations.quirks);
  const wantsStream =
    deviations.quirks.has("stream") || deviations.quirks.has("twice") || deviations.quirks.has("split");
  return wantsStream && acceptsStream(headers) ? streamed([frameOf(text)], failureOf(request)) : json(text);
}

function completed({ id }: McpRequest, result: JsonObject, { quirks }: AgentDeviations): string {
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
