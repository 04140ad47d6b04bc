/**
 * `gateway -config FILE -test-rules PATH`: runs rule suites against a configuration that is compiled as the gateway
 * compiles it. Prints one line per case on stdout; status 1 if a case fails, a suite has a mistake, or the
 * configuration does not load. Opens no listener, writes nothing, and sends no requests. Source: specification document
 * 1, `-test-rules`.
 */

import { escapeControls } from "../../base/index.ts";
import { loadNode } from "../../server/node/index.ts";
import { joinLines, writeAll } from "../copy-streams.ts";
import { UsageError } from "../parse-flags.ts";
import { printRefusal } from "../problem-lines.ts";
import { type ExitStatus, type Io, resolvePath } from "../process-io.ts";
import { findSuites, runSuites, subjectOf } from "../rule-suite/index.ts";

/** Runs the suites. Both paths are as the operator wrote them. */
export async function testRules(configPath: string, suitesPath: string, io: Io): Promise<ExitStatus> {
  const found = await findSuites(resolvePath(io, suitesPath), suitesPath, io.signal);
  if (found.kind === "problem") throw new UsageError(`flag '-test-rules': ${escapeControls(found.message)}`);
  const loaded = await loadNode(resolvePath(io, configPath), io.env);
  if (loaded.kind === "refused") return refuse(loaded.problems, "the configuration was refused", io);
  const { node } = loaded;
  if (node.nodeFile.deployment === undefined) {
    throw new UsageError(
      "the node file names no `deployment`, so there are no rules to test: name the document in a copy of the node file",
    );
  }
  for (const warning of node.warnings) io.stderr.write(`${escapeControls(warning)}\n`);

  const subject = subjectOf(node.compiled.snapshot, node.deployment.document);
  const suites = await runSuites(found.sources, subject, io.signal);
  if (suites.kind === "refused") return refuse(suites.problems, "the suites were refused", io);
  const text = suites.lines.map((line) => `${escapeControls(line)}\n`);
  await writeAll(io.stdout, joinLines(text), io.signal);
  return suites.passes ? 0 : 1;
}

function refuse(problems: readonly string[], what: string, io: Io): ExitStatus {
  printRefusal(problems, what, io);
  return 1;
}
