/** Runs suites against a configuration and returns the lines to show. */

import { type Deployment, formatProblem } from "../../server/core/config/index.ts";
import type { Snapshot } from "../../server/snapshot/index.ts";
import { type GuardrailCase, type GuardrailJudgement, judgeGuardrail } from "./guardrail-cases.ts";
import { type Judgement, judgeCase } from "./judge-case.ts";
import { readSuite } from "./parse-suite.ts";
import { type Case, resolveCases } from "./resolve-cases.ts";
import { coverageOf } from "./rule-coverage.ts";
import { coverageLine, judgementLine, summaryLine } from "./suite-report.ts";
import type { Subject } from "./suite-subject.ts";

export type SuitesRun =
  | { readonly kind: "ran"; readonly lines: readonly string[]; readonly passes: boolean }
  /** Mistakes of the suites, one line each. */
  | { readonly kind: "refused"; readonly problems: readonly string[] };

/** Called after each case with the number of judged cases and of all cases. */
export type OnCase = (done: number, of: number) => void;

interface SuiteText {
  readonly name: string;
  readonly text: string;
}

/** Returns the parts of a configuration that the cases of a suite are judged against. */
export function subjectOf(snapshot: Snapshot, document: Deployment | undefined): Subject {
  const { governance, guardrails, byName, route, modelless } = snapshot;
  const { mcp, a2a } = document ?? {};
  const names = (list: readonly { readonly name: string }[] | undefined) => list?.map(({ name }) => name);
  return { governance, guardrails, byName, route, modelless, servers: names(mcp), peers: names(a2a) };
}

/** Runs the suites. Returns one line per case, the totals, and the rules that no case decided. */
export async function runSuites(
  sources: readonly SuiteText[],
  subject: Subject,
  signal: AbortSignal,
  onCase?: OnCase,
): Promise<SuitesRun> {
  const read = parseSuites(sources, subject);
  if (read.mistakes.length > 0) return { kind: "refused", problems: read.mistakes };
  const judgements: (Judgement | GuardrailJudgement)[] = [];
  for (const it of read.cases) {
    judgements.push(it.kind === "access" ? judgeCase(it) : await judgeGuardrail(it, subject, signal));
    onCase?.(judgements.length, read.cases.length);
  }
  const { governance, guardrails } = subject;
  const guardrailRules = guardrails.inForce.rules.map(({ name }) => name);
  const lines = [
    ...judgements.map(judgementLine),
    summaryLine(judgements),
    coverageLine(coverageOf(judgements, governance.policies, guardrailRules)),
  ];
  return { kind: "ran", lines, passes: judgements.every(({ passes }) => passes) };
}

interface Suites {
  readonly cases: readonly (Case | GuardrailCase)[];
  readonly mistakes: readonly string[];
}

/** Parses and resolves all suites. Returns the cases, and the mistakes of all suites. */
function parseSuites(sources: readonly SuiteText[], subject: Subject): Suites {
  const cases: (Case | GuardrailCase)[] = [];
  const mistakes: string[] = [];
  const files = new Map<string, string>();
  for (const source of sources) {
    const read = readSuite(source);
    const suite = read.document;
    mistakes.push(...read.problems.map(formatProblem));
    if (suite === undefined) continue;
    const other = files.get(suite.suite);
    files.set(suite.suite, source.name);
    if (other !== undefined) {
      mistakes.push(formatProblem(read.problem(["suite"], `${other} also contains a suite of this name`)));
    }
    const resolved = resolveCases(read, suite, subject);
    mistakes.push(...resolved.mistakes);
    cases.push(...resolved.cases);
  }
  return { cases, mistakes };
}
