/** Configuration: text to checked documents, and what is wrong with them, where. Pure. */

export { type ComposedDeployment, composeDeployment, MAX_SOURCES } from "./compose.ts";
export * from "./deployment/index.ts";
export { type Difference, differencesOf, differingFields } from "./differences.ts";
export {
  deploymentJsonSchema,
  nodeFileJsonSchema,
  readDeployment,
  readNodeFile,
  readOverlay,
  secretsDirectoryOf,
} from "./documents.ts";
export { readGuardrails } from "./guardrails-alone.ts";
export { type Naming, printableSchema } from "./json-schema.ts";
export { type NodeFile, nodeFileSchema } from "./node-file.ts";
export { formatPath, formatProblem, type Path, type Problem, type ProblemAt, type Severity } from "./problem.ts";
export { type Draft, type Read, type ReadOptions, readDocument } from "./read.ts";
export type { Lookup, ReferenceRules, References, Used } from "./references.ts";
export { compareVersions, registryOwners } from "./registry-names.ts";
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
} from "./schema.ts";
export { schemaBelow } from "./schema-below.ts";
export { MAX_DEPTH, MAX_DOCUMENT_BYTES, type Place, parseTree, type Source, type Tree } from "./tree.ts";
export { type ApplyDecision, type ApplyQuestion, decideApply, type Edition, versionBound } from "./versions.ts";
