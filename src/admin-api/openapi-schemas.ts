/**
 * Schemas of the operations table in an OpenAPI document: a schema with a name is in the components once, and referenced
 * wherever it is part of another. A JSON Schema of 2020-12 is valid in OpenAPI 3.1 unchanged; our formats and `x-` keywords are
 * extensions that a reader may ignore.
 */

import type { JsonSchema, Schema } from "../base/index.ts";
import { TABLES } from "./list-table.ts";
import { metadata } from "./lists/keys.ts";
import { auditRecord } from "./operations/audit.ts";
import { backendFailure, backendMember } from "./operations/backends.ts";
import { mintedKey } from "./operations/keys.ts";
import { loginIssuer, nodeStatus } from "./operations/node.ts";
import { queryResult, queryTables } from "./operations/query.ts";
import {
  configuration,
  fileStatus,
  sourceChange,
  sourceDocument,
  sourceProblem,
  sourceRevision,
} from "./operations/sources.ts";

/** Named schemas other than rows of the tables, which are named after their table in the singular. */
const NAMED: Readonly<Record<string, Schema<unknown>>> = {
  AuditRecord: auditRecord,
  BackendFailure: backendFailure,
  BackendMember: backendMember,
  Configuration: configuration,
  FileStatus: fileStatus,
  LoginIssuer: loginIssuer,
  Metadata: metadata,
  MintedKey: mintedKey,
  NodeStatus: nodeStatus,
  QueryResult: queryResult,
  QueryTables: queryTables,
  SourceChange: sourceChange,
  SourceDocument: sourceDocument,
  SourceProblem: sourceProblem,
  SourceRevision: sourceRevision,
};

/** Returns `ClusterMember` for `cluster_members`. */
function rowName(table: string): string {
  const words = table.split("_").map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return words.join("").replace(/s$/, "");
}

const COMPONENTS: readonly (readonly [name: string, schema: JsonSchema])[] = [
  ...Object.entries(TABLES).map(([table, row]) => [rowName(table), row.json] as const),
  ...Object.entries(NAMED).map(([name, schema]) => [name, schema.json] as const),
].sort(([a], [b]) => (a < b ? -1 : 1));

/** Names by schema object. A schema that several others contain is the same object in all of them. */
const NAMES: ReadonlyMap<JsonSchema, string> = new Map(COMPONENTS.map(([name, schema]) => [schema, name]));

export const reference = (kind: "schemas" | "responses" | "parameters" | "headers", name: string): JsonSchema => ({
  $ref: `#/components/${kind}/${name}`,
});

/** Returns the schema, or a reference to it if it has a name. */
export function referenceOrSchema(schema: JsonSchema): JsonSchema {
  const name = NAMES.get(schema);
  return name === undefined ? withReferences(schema) : reference("schemas", name);
}

export const componentSchemas = (): Readonly<Record<string, JsonSchema>> =>
  Object.fromEntries(COMPONENTS.map(([name, schema]) => [name, withReferences(schema)]));

/** Returns the schema itself, with references instead of named parts. */
function withReferences(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => {
      if (keyword === "properties") {
        return [keyword, mapValues(value as Readonly<Record<string, JsonSchema>>, referenceOrSchema)];
      }
      const isSchema = keyword === "items" || keyword === "additionalProperties";
      return [keyword, isSchema && typeof value === "object" ? referenceOrSchema(value as JsonSchema) : value];
    }),
  );
}

function mapValues<T, U>(values: Readonly<Record<string, T>>, map: (value: T) => U): Readonly<Record<string, U>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));
}
