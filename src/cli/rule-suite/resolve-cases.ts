/**
 * Resolves the cases of a suite against one configuration: looks up names, and gives each caller its profile. A case
 * that the gateway could never meet (an unknown profile, a key although `auth` accepts none) is a mistake of the suite,
 * reported with its place: a case that tests nothing must not pass.
 */

import { formatProblem, type Place, type Problem, type Read } from "../../server/core/config/index.ts";
import { ROUTE_NAMES } from "../../server/core/dialects/index.ts";
import {
  type A2aVariables,
  a2aVariables,
  type CallerVariables,
  type LlmVariables,
  llmVariables,
  type McpVariables,
  mcpVariables,
} from "../../server/core/policy/variables/index.ts";
import type { Profile } from "../../server/snapshot/index.ts";
import { type Expected, expectedOf } from "./expected-outcome.ts";
import { type GuardrailCase, guardrailCase } from "./guardrail-cases.ts";
import { hopOf } from "./parse-suite.ts";
import { type Caller, resolveCaller } from "./suite-callers.ts";
import type { RequestText, Suite } from "./suite-schema.ts";
import { type Fault, type Subject, unknownIn } from "./suite-subject.ts";

export type Question =
  /**
   * Request to a model. `candidates`: the provider that it is routed to, then its failover list; empty if no provider
   * serves it.
   */
  | { readonly hop: "llm"; readonly model: string | undefined; readonly candidates: readonly LlmVariables[] }
  | { readonly hop: "mcp"; readonly variables: McpVariables }
  | { readonly hop: "a2a"; readonly variables: A2aVariables };

export interface Case {
  readonly kind: "access";
  readonly suite: string;
  readonly name: string;
  readonly place: Place;
  readonly profile: Profile;
  readonly question: Question;
  readonly expected: Expected;
}

interface Resolved {
  readonly cases: readonly (Case | GuardrailCase)[];
  /** Mistakes, one line each: `file:line:column: path: message`. */
  readonly mistakes: readonly string[];
}

/** Maximum number of reported mistakes; a suite for another configuration has one in every case. */
const MAX_MISTAKES = 100;

/** Resolves the cases. `suite`: the document of `read`. */
export function resolveCases(read: Read<Suite>, suite: Suite, subject: Subject): Resolved {
  const problems: Problem[] = [];
  const addMistakes = (faults: readonly Fault[], path: readonly (string | number)[]): void => {
    problems.push(...faults.map((fault) => read.problem([...path, ...fault.path], fault.message)));
  };
  const named = new Map<string, Caller | undefined>();
  for (const [name, text] of Object.entries(suite.callers ?? {})) {
    const { caller, faults } = resolveCaller(text, subject.governance);
    named.set(name, caller);
    addMistakes(faults, ["callers", name]);
  }
  const cases = suite.cases.flatMap((text, at): (Case | GuardrailCase)[] => {
    if (problems.length >= MAX_MISTAKES) return [];
    const path = ["cases", at];
    const found =
      typeof text.caller === "string"
        ? { caller: named.get(text.caller), faults: [] }
        : resolveCaller(text.caller, subject.governance);
    addMistakes(found.faults, text.caller === undefined ? path : [...path, "caller"]);
    if (found.caller === undefined) return [];
    const { profile } = found.caller;
    const place = read.locate(path);
    if (text.guardrail !== undefined) {
      const { of, faults } = guardrailCase(
        text,
        { ...text.guardrail, given: { ...suite.given, ...text.guardrail.given } },
        found.caller,
        subject,
      );
      addMistakes(faults, path);
      return faults.length > 0 ? [] : [{ suite: suite.suite, name: text.name, place, ...of }];
    }
    if (text.request === undefined) return [];
    const resolvedQuestion = questionOf(text.request, found.caller.variables, subject);
    addMistakes(resolvedQuestion.faults, [...path, "request"]);
    const { expected, faults } = expectedOf(text, profile, subject);
    addMistakes(faults, path);
    if (resolvedQuestion.question === undefined || faults.length > 0) return [];
    const { question } = resolvedQuestion;
    return [{ kind: "access", suite: suite.suite, name: text.name, place, profile, question, expected }];
  });
  return { cases, mistakes: [...new Set(problems.map(formatProblem))] };
}

interface ResolvedQuestion {
  readonly question: Question | undefined;
  readonly faults: readonly Fault[];
}

function questionOf(request: RequestText, caller: CallerVariables, subject: Subject): ResolvedQuestion {
  const { server = "", peer = "", method = "", name, args, role, parts } = request;
  const hop = hopOf(request);
  if (hop === "llm") return llmQuestion(request, caller, subject);
  if (hop === "mcp") {
    const variables = mcpVariables(caller, { server, method, name, args });
    return resolvedQuestion({ hop, variables }, unknownIn(subject.servers, server, "MCP server", ["server"]));
  }
  const { task_id: taskId, context_id: contextId } = request;
  const variables = a2aVariables(caller, { peer, method, role, taskId, contextId, ...(parts && { parts }) });
  return resolvedQuestion({ hop, variables }, unknownIn(subject.peers, peer, "agent", ["peer"]));
}

function llmQuestion(
  { model, provider, route }: RequestText,
  caller: CallerVariables,
  subject: Subject,
): ResolvedQuestion {
  const faults: Fault[] = [
    ...(provider === undefined ? [] : unknownIn([...subject.byName.keys()], provider, "provider", ["provider"])),
    ...(route === undefined ? [] : unknownIn(ROUTE_NAMES, route, "route", ["route"])),
  ];
  const routed = model === undefined ? subject.modelless : subject.route(model);
  const first = provider === undefined ? routed?.provider : subject.byName.get(provider);
  const failoverNames = provider === undefined ? (first?.failover?.to ?? []) : [];
  const asks = { model: model ?? "", route: route ?? "chat_completions" };
  const candidates = [first, ...failoverNames.map((name) => subject.byName.get(name))].flatMap((provider) =>
    provider === undefined
      ? []
      : [llmVariables(caller, { ...asks, upstreamModel: provider.aliases.get(asks.model) ?? asks.model, provider })],
  );
  return resolvedQuestion({ hop: "llm", model, candidates }, faults);
}

const resolvedQuestion = (question: Question, faults: readonly Fault[]): ResolvedQuestion => ({
  question: faults.length === 0 ? question : undefined,
  faults,
});
