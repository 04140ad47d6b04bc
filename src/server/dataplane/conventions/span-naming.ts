/**
 * Span attributes of OpenTelemetry's semantic conventions. Source: semantic conventions for generative AI, "Spans", and for
 * MCP, "Spans" (1.45). Values that callers choose are left out: ids of JSON-RPC messages and of sessions, names of prompts and
 * of tools that no server has listed, and URIs of resources.
 */
import type { AttemptSpan, AttemptStart, AttemptTracer, SpanAttributes, SpanNaming } from "../../../base/index.ts";
import { type AgentProtocol, MCP_METHODS, MCP_VERSION } from "../../core/agents/index.ts";
import type { Usage } from "../../core/dialects/index.ts";
import { modelOf, operationOf, systemOf } from "./convention-names.ts";
import type { ConventionLabels } from "./metrics.ts";
import { failureAttributes, type RpcFailure, rpcFailureOf } from "./rpc.ts";

const NOTHING: SpanAttributes = {};

/** Returns the name and attributes of a model request or attempt, or `undefined` if the conventions have none for the route. */
export function modelSpanNaming(
  { route, model: label, maker }: ConventionLabels,
  streams: boolean,
): SpanNaming | undefined {
  const operation = operationOf(route);
  if (operation === undefined) return undefined;
  const { name, output } = operation;
  const model = modelOf(label);
  return {
    name: model === "" ? name : `${name} ${model}`,
    attributes: {
      "gen_ai.operation.name": name,
      ...(maker !== "none" && { "gen_ai.provider.name": systemOf(maker) }),
      ...(model !== "" && { "gen_ai.request.model": model }),
      ...(output !== undefined && { "gen_ai.output.type": output }),
      ...(streams && { "gen_ai.request.stream": true }),
    },
  };
}

/** Span names and attributes for a call of an MCP server or agent. */
export interface AgentSpanNaming {
  readonly spanNaming: SpanNaming;
  /** Value of `mcp.method.name`; `undefined` for a call of an agent. */
  readonly mcpMethod: string | undefined;
  /** Failure that the answer reports, whatever its status. */
  failure: RpcFailure | undefined;
}

/**
 * Returns the name and attributes of a call. `method`: as the caller wrote it; a method that MCP does not define becomes
 * `_OTHER`. `name`: configured name of the server or agent. `tool`: name of the called tool, if the server has listed it.
 */
export function agentSpanNaming(kind: AgentProtocol, name: string, method: string, tool?: string): AgentSpanNaming {
  if (kind === "mcp") return mcpSpanNaming(MCP_METHODS.has(method) ? method : "_OTHER", tool);
  const invokes = method === "SendMessage" || method === "SendStreamingMessage";
  return {
    spanNaming: {
      name: invokes ? `invoke_agent ${name}` : `${method} ${name}`,
      attributes: {
        ...(invokes && { "gen_ai.operation.name": "invoke_agent" }),
        "gen_ai.agent.name": name,
        "rpc.system.name": "jsonrpc",
        "rpc.method": method,
      },
    },
    mcpMethod: undefined,
    failure: undefined,
  };
}

const mcpSpanNaming = (method: string, tool: string | undefined): AgentSpanNaming => ({
  spanNaming: {
    name: tool === undefined ? method : `${method} ${tool}`,
    attributes: {
      "mcp.method.name": method,
      "mcp.protocol.version": MCP_VERSION,
      "network.transport": "tcp",
      ...(method === "tools/call" && { "gen_ai.operation.name": "execute_tool" }),
      ...(tool !== undefined && { "gen_ai.tool.name": tool }),
    },
  },
  mcpMethod: method,
  failure: undefined,
});

/** Stores the failure that a message of the answer reports, if any, in `called`. */
export function captureFailure(called: AgentSpanNaming | undefined, message: string): void {
  const failure = called && rpcFailureOf(message);
  if (called !== undefined && failure !== undefined) called.failure = failure;
}

/** Returns the name and attributes of a call that has ended. */
export const endedCallSpanNaming = (called: AgentSpanNaming | undefined): SpanNaming | undefined =>
  called && {
    name: called.spanNaming.name,
    attributes: { ...called.spanNaming.attributes, ...failureAttributes(called.failure) },
  };

export function usageAttributes(usage: Omit<Usage, "totalTokens"> | undefined): SpanAttributes {
  if (usage === undefined) return NOTHING;
  const { inputTokens, outputTokens, cachedInputTokens, cacheCreationInputTokens, reasoningTokens } = usage;
  return {
    "gen_ai.usage.input_tokens": inputTokens,
    "gen_ai.usage.output_tokens": outputTokens,
    ...(cachedInputTokens > 0 && { "gen_ai.usage.cache_read.input_tokens": cachedInputTokens }),
    ...(cacheCreationInputTokens > 0 && { "gen_ai.usage.cache_creation.input_tokens": cacheCreationInputTokens }),
    ...(reasoningTokens > 0 && { "gen_ai.usage.reasoning.output_tokens": reasoningTokens }),
  };
}

interface ReportedAnswer {
  readonly reasons: readonly string[];
  readonly model: string | undefined;
}

export const reportedAttributes = (reportedAnswer: ReportedAnswer | undefined): SpanAttributes => ({
  ...(reportedAnswer !== undefined &&
    reportedAnswer.reasons.length > 0 && { "gen_ai.response.finish_reasons": reportedAnswer.reasons }),
  ...(reportedAnswer?.model !== undefined && { "gen_ai.response.model": reportedAnswer.model }),
});

interface ServedRequest {
  readonly labels: ConventionLabels;
  readonly streams: boolean;
  readonly usage: Usage | undefined;
  readonly reportedAnswer: ReportedAnswer | undefined;
}

/**
 * Returns the name and attributes of a model request that has ended, including the data that the answer reported; `undefined` as
 * for `modelSpanNaming`.
 */
export function requestSpanNaming({ labels, streams, usage, reportedAnswer }: ServedRequest): SpanNaming | undefined {
  const naming = modelSpanNaming(labels, streams);
  if (naming === undefined) return undefined;
  return {
    name: naming.name,
    attributes: { ...naming.attributes, ...usageAttributes(usage), ...reportedAttributes(reportedAnswer) },
  };
}

/** Wraps a tracer so that attempts get the attributes of the conventions, at their beginning and at their end. */
export function withSpanNaming(
  tracer: AttemptTracer,
  naming: () => SpanNaming | undefined,
  responseAttributes: () => SpanAttributes = () => NOTHING,
): AttemptTracer {
  return {
    startAttempt(started: AttemptStart): AttemptSpan {
      const span = tracer.startAttempt({ ...started, naming: naming() });
      return {
        injectContext: (headers) => span.injectContext(headers),
        end: (outcome, status) => span.end(outcome, status, responseAttributes()),
      };
    },
  };
}
