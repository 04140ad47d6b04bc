/** Parses a suite and checks it, independent of a configuration. */

import { type Path, type Problem, type ProblemAt, type Read, readDocument } from "../../server/core/config/index.ts";
import { type CallerText, type CaseText, type RequestText, type Suite, suiteSchema } from "./suite-schema.ts";

export type { Suite };

type Lookup = Parameters<typeof readDocument>[2]["secret"];

const NONE: Lookup = () => ({ kind: "problem", message: "references are not supported in a rule suite" });

/** Parses a suite. References are not supported, so that the same text always means the same. */
export function readSuite(source: { readonly name: string; readonly text: string }): Read<Suite> {
  const references = { env: () => undefined, secret: NONE, file: NONE };
  return readDocument(suiteSchema, source, references, {
    fileAllowed: false,
    noneAllowed: true,
    whenEmpty: "the suite is empty; it needs `suite`, its name, and `cases`",
    checks: (suite, problem) => [...callerProblems(suite, problem), ...caseProblems(suite, problem)],
  });
}

function callerProblems(suite: Suite, problem: ProblemAt): readonly Problem[] {
  const named = Object.entries(suite.callers ?? {}).flatMap(([name, caller]) =>
    callerFaults(caller, ["callers", name], problem),
  );
  const inline = suite.cases.flatMap(({ caller }, at) =>
    typeof caller === "object" ? callerFaults(caller, ["cases", at, "caller"], problem) : [],
  );
  return [...named, ...inline];
}

function callerFaults({ key, agent, user }: CallerText, path: Path, problem: ProblemAt): readonly Problem[] {
  if (key === undefined && agent === undefined && user === undefined) {
    return [problem(path, "a caller is a `key`, an `agent` or a `user`")];
  }
  if (agent === undefined) return [];
  if (agent.issuer === undefined && user === undefined) {
    return [problem([...path, "agent"], "the required key `issuer` is missing")];
  }
  if (agent.issuer !== undefined && user !== undefined && agent.issuer !== user.issuer) {
    return [problem([...path, "agent", "issuer"], "is not the issuer of the user, but both belong to one token")];
  }
  return [];
}

function caseProblems(suite: Suite, problem: ProblemAt): readonly Problem[] {
  const first = new Map<string, number>();
  return suite.cases.flatMap((it, at) => {
    const path = ["cases", at];
    const before = first.get(it.name);
    first.set(it.name, before ?? at);
    return [
      ...(before === undefined
        ? []
        : [problem([...path, "name"], `two cases have this name, the first is entry ${before + 1} of this list`)]),
      ...(typeof it.caller === "string" && !Object.hasOwn(suite.callers ?? {}, it.caller)
        ? [problem([...path, "caller"], "there is no such caller in `callers`")]
        : []),
      ...(it.request === undefined ? [] : requestFaults(it.request, [...path, "request"], problem)),
      ...subjectFaults(it, path, problem),
      ...expectationFaults(it, path, problem),
    ];
  });
}

type HopOf = "llm" | "mcp" | "a2a";

export function hopOf({ server, peer }: RequestText): HopOf {
  if (server !== undefined) return "mcp";
  return peer === undefined ? "llm" : "a2a";
}

const KEYS: Readonly<Record<HopOf, { readonly to: string; readonly keys: readonly (keyof RequestText)[] }>> = {
  llm: { to: "a model", keys: ["model", "provider", "route"] },
  mcp: { to: "an MCP server", keys: ["server", "method", "name", "args"] },
  a2a: { to: "an A2A agent", keys: ["peer", "method", "role", "task_id", "context_id", "parts"] },
};

function requestFaults(request: RequestText, path: Path, problem: ProblemAt): readonly Problem[] {
  const hop = hopOf(request);
  const { to, keys } = KEYS[hop];
  const written = Object.keys(request);
  const foreign = written.filter((key) => !keys.some((known) => known === key));
  if (foreign.length > 0) {
    return foreign.map((key) =>
      problem([...path, key], `does not belong to a request to ${to}, which has ${keys.join(", ")}`),
    );
  }
  if (hop === "llm" && request.model === undefined && request.route === undefined) {
    return [problem(path, "names neither `model`, `server` nor `peer`; a request without a model needs its `route`")];
  }
  if (hop !== "llm" && request.method === undefined) return [problem(path, "the required key `method` is missing")];
  return [];
}

/** Checks that a case has either a request or a text for the guardrails. */
function subjectFaults(it: CaseText, path: Path, problem: ProblemAt): readonly Problem[] {
  const { request, guardrail, expect, by, rewritten } = it;
  if ((request === undefined) === (guardrail === undefined)) {
    return [problem(path, "a case needs either a `request` for the access rules or a `guardrail` with a text")];
  }
  const faults: Problem[] = [];
  if (request !== undefined) {
    if (expect === "redact") faults.push(problem([...path, "expect"], "`redact` is only possible with a `guardrail`"));
    for (const key of ["rewritten", "types"] as const) {
      if (it[key] !== undefined) faults.push(problem([...path, key], "this key is only possible with a `guardrail`"));
    }
    return faults;
  }
  if (rewritten !== undefined && expect !== "redact") {
    faults.push(problem([...path, "rewritten"], "this key is only possible with `expect: redact`"));
  }
  if (typeof by === "object" && by.profile !== undefined) {
    faults.push(problem([...path, "by", "profile"], "a guardrail rule belongs to the deployment, not to a profile"));
  }
  return faults;
}

function expectationFaults({ expect, message, reaches, request }: CaseText, path: Path, problem: ProblemAt) {
  const faults: Problem[] = [];
  if (message !== undefined && expect !== "deny") {
    faults.push(problem([...path, "message"], "only a request that a rule denies has a message"));
  }
  if (reaches !== undefined && (expect !== "allow" || request === undefined || hopOf(request) !== "llm")) {
    faults.push(problem([...path, "reaches"], "`reaches` is only possible for an allowed request to a model"));
  }
  if (reaches !== undefined && request?.provider !== undefined) {
    faults.push(problem([...path, "reaches"], "`request` already names the provider"));
  }
  return faults;
}
