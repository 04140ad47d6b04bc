/** Shared by the tests of this folder: a document with its defaults, and the checks' problems as plain lines. */

import type { Deployment, ProviderConfig } from "../../../../../src/server/core/config/deployment/index.ts";
import { deploymentChecks, deploymentSchema } from "../../../../../src/server/core/config/deployment/index.ts";
import { formatPath, type ProblemAt } from "../../../../../src/server/core/config/problem.ts";
import { fillDefaults } from "../../../../../src/server/core/config/schema/defaults.ts";

export const problemAt: ProblemAt = (path, message, severity = "error") => ({
  severity,
  file: "deployment.yaml",
  line: 1,
  column: 1,
  path: formatPath(path),
  message,
});

/** Returns a document with these sections and the defaults of the others. */
export function documentOf(sections: Partial<Deployment>): Deployment {
  const defaults: Partial<Deployment> = {};
  fillDefaults(deploymentSchema.json, defaults);
  return { ...(defaults as Deployment), ...sections };
}

export const providersOf = (...providers: readonly ProviderConfig[]): Deployment => documentOf({ providers });

/** Returns `path: message`, with `warning` before it for warnings. */
export function problemsOf(document: Deployment): readonly string[] {
  return deploymentChecks(document, problemAt).map(
    ({ severity, path, message }) => `${severity === "warning" ? "warning " : ""}${path}: ${message}`,
  );
}
