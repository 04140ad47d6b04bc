/** Reads the guardrails of a document on disk, for evaluation and rehearsals: a deployment document, or a node file that names one. */

import { formatProblem, type Guardrails, type ProblemAt, readGuardrails } from "../core/config/index.ts";
import { openSecrets } from "../secrets/index.ts";
import type { GuardedProfile } from "../snapshot/index.ts";
import { beside, openDisk } from "./files.ts";
import { glance } from "./glance.ts";

export type ReadGuardrails =
  | {
      readonly kind: "read";
      readonly guardrails: Guardrails;
      /** With which detectors they select, and nothing else of them. */
      readonly profiles: readonly GuardedProfile[];
      readonly problem: ProblemAt;
      /** Lines for a person. */
      readonly warnings: readonly string[];
    }
  /** A line each. */
  | { readonly kind: "refused"; readonly problems: readonly string[] };

/** `path` is absolute. Reads files and the environment, opens nothing, writes nothing. */
export async function readGuardrailsAt(
  path: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<ReadGuardrails> {
  const disk = openDisk();
  const file = await disk.readText(path);
  if (file.kind === "problem") return refused([file.message]);
  const { deployment, secretsDir } = glance(file.text, env);
  const document = deployment === undefined ? file : await disk.readText(beside(path, deployment));
  if (document.kind === "problem") return refused([document.message]);
  const secrets = openSecrets({ dir: secretsDir && beside(path, secretsDir) });
  const {
    document: read,
    problems,
    problem,
  } = readGuardrails(document, {
    env: (name) => env[name],
    secret: (name) => secrets.secret(name),
    file: (name) => secrets.file(name),
  });
  const told = problems.map(formatProblem);
  if (read === undefined) return refused(told);
  const { guardrails, profiles = [] } = read;
  if (guardrails === undefined) return refused([...told, `${document.name}: it has no \`guardrails\``]);
  if (guardrails.detectors.length === 0) return refused([...told, `${document.name}: guardrails: no \`detectors\``]);
  return { kind: "read", guardrails, profiles, problem, warnings: told };
}

const refused = (problems: readonly string[]): ReadGuardrails => ({ kind: "refused", problems });
