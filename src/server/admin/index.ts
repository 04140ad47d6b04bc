/** The admin plane: the operations table answered, on the local socket. */

export type {
  Configuration,
  FileStatus,
  NodeStatus,
  SecretRecord,
  SourceChange,
  SourceProblem,
  SourceRecord,
  SourceRevision,
} from "../../admin-api/index.ts";
export { type LocalDoor, type LocalDoorOptions, openLocalDoor } from "./local-door.ts";
export type { DocumentWrite, NodeFacts, Ports, Secrets, SourceOutcome, Sources } from "./ports.ts";
export { refusal, refusedCommand } from "./refusal.ts";
