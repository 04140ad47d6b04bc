/**
 * Builds the variables of a request of one traffic type. Separate from the rules, so that callers need not load the expression
 * engine. Source: document 3, `access_rules[]`, "Variables by hop".
 *
 * Missing values are empty: for a caller with a key, the fields of `agent` and `user` are empty texts.
 */

import type { Json } from "../../cel/index.ts";

type Texts = Readonly<Record<string, string>>;

export type CallerVariables = {
  readonly key: { readonly name: string; readonly metadata: Texts };
  readonly agent: { readonly name: string; readonly issuer: string; readonly subject: string };
  readonly user: { readonly name: string; readonly issuer: string; readonly subject: string; readonly email: string };
};

export type LlmVariables = CallerVariables & {
  /** Model as the client requested it. */
  readonly model: string;
  /** Model as sent to the provider; differs if the requested name is an alias there. */
  readonly upstream_model: string;
  /** Provider that the request is about to be sent to; with failover, each candidate in turn. */
  readonly provider: string;
  readonly "provider.name": string;
  readonly "provider.metadata": Texts;
  readonly route: string;
};

export type McpVariables = CallerVariables & {
  readonly server: string;
  /** JSON-RPC method. */
  readonly method: string;
  /** Name of the tool, prompt or resource; empty for other methods. */
  readonly name: string;
  /** Arguments of a tool call as read from the body; their numbers are doubles. */
  readonly args: Json;
};

type A2aPart = {
  readonly kind: string;
  readonly media_type: string;
  readonly url: string;
  readonly filename: string;
};

export type A2aVariables = CallerVariables & {
  readonly peer: string;
  readonly method: string;
  /** `ROLE_USER` or `ROLE_AGENT` on message methods, else empty. */
  readonly role: string;
  readonly task_id: string;
  readonly context_id: string;
  readonly parts: readonly A2aPart[];
};

export interface HopVariables {
  readonly llm: LlmVariables;
  readonly mcp: McpVariables;
  readonly a2a: A2aVariables;
}

/** Caller as rules see it; `undefined` values are empty to them. */
interface PolicyCaller {
  readonly key: CallerVariables["key"] | undefined;
  readonly agent: CallerVariables["agent"] | undefined;
  readonly user: CallerVariables["user"] | undefined;
}

const NOTHING: Texts = Object.freeze({});
const NO_KEY: CallerVariables["key"] = Object.freeze({ name: "", metadata: NOTHING });
const NO_AGENT: CallerVariables["agent"] = Object.freeze({ name: "", issuer: "", subject: "" });
const NO_USER: CallerVariables["user"] = Object.freeze({ name: "", issuer: "", subject: "", email: "" });

/** Builds the caller's variables. Called once per caller, for all of its requests. */
export function callerVariables({ key, agent, user }: PolicyCaller): CallerVariables {
  return {
    key: key === undefined ? NO_KEY : { name: key.name, metadata: key.metadata },
    agent: agent === undefined ? NO_AGENT : { name: agent.name, issuer: agent.issuer, subject: agent.subject },
    user:
      user === undefined ? NO_USER : { name: user.name, issuer: user.issuer, subject: user.subject, email: user.email },
  };
}

interface LlmRequest {
  readonly model: string;
  readonly upstreamModel: string;
  readonly provider: { readonly name: string; readonly metadata?: Texts | undefined };
  readonly route: string;
}

/** Builds the variables of an LLM request. Called for each candidate, since the provider differs. */
export function llmVariables(
  { key, agent, user }: CallerVariables,
  { model, upstreamModel, provider, route }: LlmRequest,
): LlmVariables {
  const { name, metadata = NOTHING } = provider;
  return {
    key,
    agent,
    user,
    model,
    upstream_model: upstreamModel,
    provider: name,
    "provider.name": name,
    "provider.metadata": metadata,
    route,
  };
}

interface McpRequest {
  readonly server: string;
  readonly method: string;
  readonly name?: string | undefined;
  readonly args?: Json | undefined;
}

export function mcpVariables({ key, agent, user }: CallerVariables, request: McpRequest): McpVariables {
  const { server, method, name = "", args = NOTHING } = request;
  return { key, agent, user, server, method, name, args };
}

interface A2aRequest {
  readonly peer: string;
  readonly method: string;
  readonly role?: string | undefined;
  readonly taskId?: string | undefined;
  readonly contextId?: string | undefined;
  readonly parts?: readonly (Pick<A2aPart, "kind"> & { readonly [Field in keyof A2aPart]?: string | undefined })[];
}

export function a2aVariables({ key, agent, user }: CallerVariables, request: A2aRequest): A2aVariables {
  const { peer, method, role = "", taskId: task_id = "", contextId: context_id = "" } = request;
  const parts = (request.parts ?? []).map(({ kind, media_type = "", url = "", filename = "" }) => {
    return { kind, media_type, url, filename };
  });
  return { key, agent, user, peer, method, role, task_id, context_id, parts };
}
