/**
 * `gateway -config FILE -test-rules PATH`: rule suites against a configuration, compiled as the gateway compiles it. One
 * line a case on stdout; status 1 when a case fails, a suite has a mistake, or the configuration does not load. Opens no
 * listener, writes nothing, calls nobody. Source: specification document 1, `-test-rules`.
 */

import { escapeControls } from "../../base/index.ts";
import { formatProblem } from "../../server/core/config/index.ts";
import { type LoadedNode, loadNode } from "../../server/node/index.ts";
import { UsageError } from "../flags.ts";
import { type ExitStatus, type Io, resolvePath } from "../io.ts";
import {
  type Case,
  coverageLine,
  coverageOf,
  findSuites,
  type GuardrailCase,
  type GuardrailJudgement,
  type Judgement,
  judge,
  judgeGuardrail,
  judgementLine,
  readSuite,
  resolveCases,
  type Subject,
  summaryLine,
} from "../rule-suite/index.ts";
import { joined, writeAll } from "../streams.ts";

/** Both as the operator wrote them. */
export async function testRules(configPath: string, suitesPath: string, io: Io): Promise<ExitStatus> {
  const found = await findSuites(resolvePath(io, suitesPath), suitesPath, io.signal);
  if (found.kind === "problem") throw new UsageError(`flag '-test-rules': ${escapeControls(found.message)}`);
  const loaded = await loadNode(resolvePath(io, configPath), io.env);
  if (loaded.kind === "refused") return refuse(loaded.problems, "the configuration was refused", io);
  const { node } = loaded;
  if (node.nodeFile.deployment === undefined) {
    throw new UsageError("the node file names no `deployment`, so that there are no rules to test");
  }
  for (const warning of node.warnings) io.stderr.write(`${escapeControls(warning)}\n`);

  const subject = subjectOf(node);
  const read = readAll(found.sources, subject);
  if (read.mistakes.length > 0) return refuse(read.mistakes, "the suites were refused", io);
  const judgements: (Judgement | GuardrailJudgement)[] = [];
  for (const it of read.cases) {
    judgements.push(it.kind === "access" ? judge(it) : await judgeGuardrail(it, subject, io.signal));
  }
  const { governance, guardrails } = node.compiled.snapshot;
  const guardrailRules = guardrails.inForce.rules.map(({ name }) => name);
  const lines = [
    ...judgements.map(judgementLine),
    summaryLine(judgements),
    coverageLine(coverageOf(judgements, governance.policies, guardrailRules)),
  ];
  const text = lines.map((line) => `${escapeControls(line)}\n`);
  await writeAll(io.stdout, joined(text), io.signal);
  return judgements.every(({ passes }) => passes) ? 0 : 1;
}

function subjectOf({ compiled, deployment }: LoadedNode): Subject {
  const { governance, guardrails, byName, route, modelless } = compiled.snapshot;
  const { mcp, a2a } = deployment.document ?? {};
  const names = (list: readonly { readonly name: string }[] | undefined) => list?.map(({ name }) => name);
  return { governance, guardrails, byName, route, modelless, servers: names(mcp), peers: names(a2a) };
}

interface Suites {
  readonly cases: readonly (Case | GuardrailCase)[];
  readonly mistakes: readonly string[];
}

/** All of them, or what is wrong with any. */
function readAll(sources: readonly { readonly name: string; readonly text: string }[], subject: Subject): Suites {
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
      mistakes.push(formatProblem(read.problem(["suite"], `${other} holds a suite of this name too`)));
    }
    const resolved = resolveCases(read, suite, subject);
    mistakes.push(...resolved.mistakes);
    cases.push(...resolved.cases);
  }
  return { cases, mistakes };
}

function refuse(problems: readonly string[], what: string, io: Io): ExitStatus {
  for (const problem of problems) io.stderr.write(`${escapeControls(problem)}\n`);
  const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
  io.stderr.write(`gateway: ${what}: ${count}\n`);
  return 1;
}
