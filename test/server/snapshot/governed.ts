/** Shared by the tests of this folder: a compiled deployment document, and its problems as lines. */

import { formatProblem, readDeployment } from "../../../src/server/core/config/index.ts";
import {
  type Compiled,
  compileDeployment,
  type Governance,
  loadGuardrails,
  loadRules,
  type Snapshot,
  type TrustedSettings,
} from "../../../src/server/snapshot/index.ts";

/** Two providers, and no default. */
export const PROVIDERS = `providers:
  - {preset: openai, api_key: "\${KEY}", models: [gpt-*]}
  - {preset: anthropic, api_key: "\${KEY}", models: [claude-*]}
`;

interface CompileOptions {
  readonly limitRev?: number;
  readonly hasReconciled?: boolean | undefined;
  readonly trusted?: TrustedSettings;
  /** Acts like a process that has not loaded the rule engine. */
  readonly isUnprepared?: boolean;
}

const NOTHING = { kind: "problem", message: "there are no secrets here" } as const;

export async function compile(text: string, options: CompileOptions = {}): Promise<Compiled> {
  return compileDeployment({
    deployment: readDeployment(
      { name: "d", text },
      { env: (name) => `value of ${name}`, secret: () => NOTHING, file: () => NOTHING },
    ),
    fileOverlays: [],
    limitRev: options.limitRev ?? 7,
    hasReconciled: options.hasReconciled,
    trusted: options.trusted,
    rules: options.isUnprepared === true ? undefined : await loadRules([text]),
    guardrails: options.isUnprepared === true ? undefined : await loadGuardrails([text]),
  });
}

export const linesOf = ({ problems }: Compiled): readonly string[] =>
  problems.map(formatProblem).map((line) => line.replace(/^d:/, ""));

/** Returns all errors and warnings of the document. */
export const problemsOf = async (text: string, options?: CompileOptions): Promise<readonly string[]> =>
  linesOf(await compile(text, options));

export async function snapshotOf(text: string, options?: CompileOptions): Promise<Snapshot> {
  const compiled = await compile(text, options);
  if (compiled.kind !== "compiled") throw new Error(linesOf(compiled).join("\n"));
  return compiled.snapshot;
}

export const governanceOf = async (text: string, options?: CompileOptions): Promise<Governance> =>
  (await snapshotOf(text, options)).governance;
