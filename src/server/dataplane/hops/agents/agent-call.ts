/** One call of a server or agent, as its protocol reads it: what the life of a request needs of it, and nothing of the wire. */
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
  isOldAnswer,
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
import type { Fronted } from "../../../upstream/index.ts";

export interface CallTexts {
  readonly texts: readonly AgentText[];
  readonly uninspected: AgentTexts["uninspected"];
  /** New values of headers by lower-case name, beside the body. */
  readonly rewrite: (changes: readonly (string | undefined)[]) => {
    readonly body: string;
    readonly headers: ReadonlyMap<string, string>;
  };
}

export interface AgentCall {
  readonly fronted: Fronted;
  /** JSON text. */
  readonly id: string;
  /** As it was sent. */
  readonly method: string;
  /** Of a tool, prompt or resource; empty where it names none. */
  readonly name: string;
  readonly isNotification: boolean;
  /** Of a message of an agent. */
  readonly role?: string | undefined;
  readonly decide: (policy: AccessPolicy, caller: CallerVariables) => Verdict;
  /** Throws `invalid_request`. */
  readonly texts: () => CallTexts;
  /** To be sent on in place of what came. Undefined: it goes on as it came. */
  readonly body: Buffer | undefined;
  /** Headers that the server is sent in place of the client's. Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly answer: AnswerReading;
}

/** Whether a call carries what `restore` is of: arguments of a tool, or parts of a message. */
export const hasArguments = ({ fronted, method }: AgentCall): boolean =>
  fronted.kind === "a2a" || method === "tools/call";

/** How messages of the answer are read: each is one text of JSON. */
export interface AnswerReading {
  readonly texts: (message: string) => AgentTexts | undefined;
  /** It is of a revision that is not spoken here. */
  readonly isOld: (message: string, status: number) => boolean;
  /** Undefined: the call lists no tools. */
  readonly tools: { readonly key: string; readonly isShareable: boolean } | undefined;
  /** What tells clients that a message is of an old revision. */
  readonly whatIsOld: string;
}

export type CallReading =
  | { readonly kind: "call"; readonly call: AgentCall }
  /** 202, and nothing is forwarded. */
  | { readonly kind: "dropped" }
  | { readonly kind: "refused"; readonly fault: RpcFault };

/** As refusals name it. */
export const nounOf = ({ fronted }: Pick<AgentCall, "fronted">): { readonly noun: string } => ({
  noun: `${fronted.kind === "mcp" ? "MCP server" : "Agent"} ${fronted.name}`,
});

export function readCall(fronted: Fronted, query: string, request: IncomingMessage, body: Buffer): CallReading {
  return fronted.kind === "mcp" ? mcpCall(fronted, request, body) : a2aCall(fronted, request, query, body);
}

const NO_HEADERS: ReadonlyMap<string, string> = new Map();

function mcpCall(fronted: Fronted, { headers }: IncomingMessage, body: Buffer): CallReading {
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
      texts: () => readable(() => mcpRequestTexts(request, headers)),
      body: undefined,
      headers: NO_HEADERS,
      answer: {
        texts: mcpAnswerTexts,
        isOld: isOldMcp,
        tools: method === "tools/list" ? { key: listKeyOf(request), isShareable: !isContinued } : undefined,
        whatIsOld: "does not speak MCP 2026-07-28",
      },
    },
  };
}

/** Codes that servers of this revision answer with the status 400. */
const MODERN_FAULTS = /"code"\s*:\s*-(?:3202[0-2]|32602|32600|32601|32700)\b/;

function isOldMcp(message: string, status: number): boolean {
  const outcome = mcpOutcome(message);
  if (outcome.kind === "result") return outcome.resultType === undefined;
  return status === 400 && outcome.kind === "error" && !MODERN_FAULTS.test(message);
}

function a2aCall(fronted: Fronted, { headers }: IncomingMessage, query: string, body: Buffer): CallReading {
  const versions = new URLSearchParams(query).getAll("A2A-Version");
  const reading = readA2aRequest({ headers, versions, body });
  if (reading.kind !== "read") return reading;
  const { request } = reading;
  const { id, method, role, taskId, contextId, parts } = request;
  // Its answer names the agent's own address.
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
        readable(() => {
          const { texts, uninspected, rewrite } = a2aRequestTexts(request);
          return { texts, uninspected, rewrite: (changes) => ({ body: rewrite(changes), headers: NO_HEADERS }) };
        }),
      body: request.body,
      headers: new Map([["a2a-version", A2A_VERSION]]),
      answer: {
        texts: a2aAnswerTexts,
        isOld: isOldAnswer,
        tools: undefined,
        whatIsOld: "does not speak A2A 1.0",
      },
    },
  };
}

function readable(read: () => CallTexts): CallTexts {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof TooManyTexts)) throw error;
    throw new GatewayError(
      "invalid_request",
      "Guardrails cannot inspect the request: it has too many texts: send it in parts.",
      {
        cause: error,
      },
    );
  }
}
