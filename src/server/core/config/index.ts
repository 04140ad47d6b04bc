/**
 * Configuration: reads texts into checked documents and reports problems with their positions. Pure.
 *
 * - `deployment/`: schema and checks of the deployment document
 * - `node-file/`: schema and checks of the node file
 * - `references/`: references in values: `${VAR}`, `${secret:NAME}`, `${file:NAME}`
 * - `schema/`: vocabulary of the schemas, and validation by them
 * - `yaml/`: YAML text to a tree of located values
 */

export { type ComposedDeployment, composeDeployment, MAX_SOURCES } from "./compose.ts";
export * from "./deployment/index.ts";
export { type Difference, differencesOf, differingFields } from "./differences.ts";
export {
  deploymentJsonSchema,
  nodeFileJsonSchema,
  readDeployment,
  readNodeFile,
  readOverlay,
} from "./documents.ts";
export { type NodeFile, nodeFileSchema } from "./node-file/node-file.ts";
export { formatPath, formatProblem, type Path, type Problem, type ProblemAt, type Severity } from "./problem.ts";
export { type Draft, type Read, readDocument } from "./read-document.ts";
export { readGuardrails } from "./read-guardrails-only.ts";
export type { References } from "./references/value-references.ts";
export { compareVersions, registryOwners } from "./registry-names.ts";
export { printableSchema } from "./schema/json-schema.ts";
export {
  anything,
  choice,
  type JsonSchema,
  list,
  map,
  number,
  object,
  required,
  type Schema,
  type TypeOf,
  text,
} from "./schema/schema.ts";
export { schemaBelow } from "./schema/schema-below.ts";
export { type ApplyDecision, decideApply, type Edition, versionBound } from "./versions.ts";
export { MAX_DOCUMENT_BYTES, type Place, parseTree, type Source, type Tree } from "./yaml/located-tree.ts";
