/**
 * Describes one call of an MCP server or agent, parsed by its protocol: the data that serving needs, independent of the wire
 * format.
 */
import type { IncomingMessage } from "node:http";
import { GatewayError } from "../../../../base/index.ts";
import {
  A2A_VERSION,
  type AgentText,
  type AgentTexts,
  a2aAnswerTexts,
  a2aFault,
  a2aRequestTexts,
  argumentsOf,
  isLegacyAnswer,
  listKeyOf,
  mcpAnswerTexts,
  mcpOutcome,
  mcpRequestTexts,
  type RpcFault,
  readA2aRequest,
  readMcpRequest,
  TooManyTexts,
} from "../../../core/agents/index.ts";
import type { AccessPolicy, Verdict } from "../../../core/policy/index.ts";
import { a2aVariables, type CallerVariables, mcpVariables } from "../../../core/policy/variables/index.ts";
import type { FrontedServer } from "../../../upstream/index.ts";

export interface CallTexts {
  readonly texts: readonly AgentText[];
  readonly uninspected: AgentTexts["uninspected"];
  /** Returns the new body, and new values of headers by lower-case name. */
  readonly rewrite: (changes: readonly (string | undefined)[]) => {
    readonly body: string;
    readonly headers: ReadonlyMap<string, string>;
  };
}

export interface AgentCall {
  readonly fronted: FrontedServer;
  /** Id of the message, as JSON text. */
  readonly id: string;
  /** Method as the caller wrote it. */
  readonly method: string;
  /** Name of a tool, prompt or resource; empty without one. */
  readonly name: string;
  readonly isNotification: boolean;
  /** Role of a message to an agent. */
  readonly role?: string | undefined;
  readonly decide: (policy: AccessPolicy, caller: CallerVariables) => Verdict;
  /** Returns the texts to inspect. Throws `invalid_request`. */
  readonly texts: () => CallTexts;
  /** Body to send instead of the original; `undefined` if that is sent unchanged. */
  readonly body: Buffer | undefined;
  /** Headers, by lower-case name, that replace the client's. */
  readonly headers: ReadonlyMap<string, string>;
  readonly answer: AnswerParser;
}

/** Returns whether a call carries content to which `restore` applies: arguments of a tool, or parts of a message. */
export const hasArguments = ({ fronted, method }: AgentCall): boolean =>
  fronted.kind === "a2a" || method === "tools/call";

/** Reads the messages of an answer, each of which is one JSON text. */
interface AnswerParser {
  readonly texts: (message: string) => AgentTexts | undefined;
  /** Returns whether the message belongs to an unsupported protocol revision. */
  readonly isUnsupportedVersion: (message: string, status: number) => boolean;
  /** Cache key of the tool list; `undefined` unless the call lists tools. */
  readonly tools: { readonly key: string; readonly isShareable: boolean } | undefined;
  /** Description of an old revision in refusals. */
  readonly unsupportedVersionText: string;
}

type ParsedCall =
  | { readonly kind: "call"; readonly call: AgentCall }
  /** The call is answered with 202, and nothing is forwarded. */
  | { readonly kind: "dropped" }
  | { readonly kind: "refused"; readonly fault: RpcFault };

/** Returns the name of the server or agent in refusals. */
export const refusalNoun = ({ fronted }: Pick<AgentCall, "fronted">): { readonly noun: string } => ({
  noun: `${fronted.kind === "mcp" ? "MCP server" : "Agent"} ${fronted.name}`,
});

export function parseCall(fronted: FrontedServer, query: string, request: IncomingMessage, body: Buffer): ParsedCall {
  return fronted.kind === "mcp" ? mcpCall(fronted, request, body) : a2aCall(fronted, request, query, body);
}

const NO_HEADERS: ReadonlyMap<string, string> = new Map();

function mcpCall(fronted: FrontedServer, { headers }: IncomingMessage, body: Buffer): ParsedCall {
  const reading = readMcpRequest(headers, body);
  if (reading.kind !== "read") return reading;
  const { request } = reading;
  const { id, method, name, isContinued } = request;
  return {
    kind: "call",
    call: {
      fronted,
      id,
      method,
      name,
      isNotification: request.kind === "notification",
      decide: (policy, caller) =>
        policy.decide("mcp", mcpVariables(caller, { server: fronted.name, method, name, args: argumentsOf(request) })),
      texts: () => orTooManyTexts(() => mcpRequestTexts(request, headers)),
      body: undefined,
      headers: NO_HEADERS,
      answer: {
        texts: mcpAnswerTexts,
        isUnsupportedVersion: isUnsupportedMcp,
        tools: method === "tools/list" ? { key: listKeyOf(request), isShareable: !isContinued } : undefined,
        unsupportedVersionText: "does not speak MCP 2026-07-28",
      },
    },
  };
}

/** Error codes that servers of the current revision send with status 400. */
const MODERN_FAULTS = /"code"\s*:\s*-(?:3202[0-2]|32602|32600|32601|32700)\b/;

function isUnsupportedMcp(message: string, status: number): boolean {
  const outcome = mcpOutcome(message);
  if (outcome.kind === "result") return outcome.resultType === undefined;
  return status === 400 && outcome.kind === "error" && !MODERN_FAULTS.test(message);
}

function a2aCall(fronted: FrontedServer, { headers }: IncomingMessage, query: string, body: Buffer): ParsedCall {
  const versions = new URLSearchParams(query).getAll("A2A-Version");
  const reading = readA2aRequest({ headers, versions, body });
  if (reading.kind !== "read") return reading;
  const { request } = reading;
  const { id, method, role, taskId, contextId, parts } = request;
  // The agent's extended card would contain the agent's own address.
  if (method === "GetExtendedAgentCard") return { kind: "refused", fault: a2aFault("no_extended_card", id) };
  return {
    kind: "call",
    call: {
      fronted,
      id,
      method,
      name: "",
      isNotification: false,
      role,
      decide: (policy, caller) =>
        policy.decide("a2a", a2aVariables(caller, { peer: fronted.name, method, role, taskId, contextId, parts })),
      texts: () =>
        orTooManyTexts(() => {
          const { texts, uninspected, rewrite } = a2aRequestTexts(request);
          return { texts, uninspected, rewrite: (changes) => ({ body: rewrite(changes), headers: NO_HEADERS }) };
        }),
      body: request.body,
      headers: new Map([["a2a-version", A2A_VERSION]]),
      answer: {
        texts: a2aAnswerTexts,
        isUnsupportedVersion: isLegacyAnswer,
        tools: undefined,
        unsupportedVersionText: "does not speak A2A 1.0",
      },
    },
  };
}

function orTooManyTexts(read: () => CallTexts): CallTexts {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof TooManyTexts)) throw error;
    throw new GatewayError(
      "invalid_request",
      "Guardrails cannot inspect the request, because it has too many texts: send it in parts.",
      {
        cause: error,
      },
    );
  }
}
