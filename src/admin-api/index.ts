/** The contract of the admin API: operations, records and columns as data, and a client typed by them. */

export { type AdminClient, type CallInput, type CallOptions, type ClientOptions, createAdminClient } from "./client.ts";
export * from "./columns.ts";
export { AdminError } from "./errors.ts";
export * from "./operation.ts";
export { ARCHIVE_TYPE } from "./operations/cluster.ts";
export type { NodeStatus } from "./operations/node.ts";
export type {
  Configuration,
  FileStatus,
  SourceChange,
  SourceDocument,
  SourceProblem,
  SourceRevision,
} from "./operations/sources.ts";
export * from "./operations.ts";
export type { JsonSchema, ObjectSchema, Schema, TypeOf } from "./schema.ts";
