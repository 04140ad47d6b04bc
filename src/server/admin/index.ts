/** The admin plane: the operations table answered, on the local socket. */

export { type LocalDoor, type LocalDoorOptions, openLocalDoor } from "./local-door.ts";
export type { DocumentWrite, NodeFacts, Ports, Secrets, SourceOutcome, Sources } from "./ports.ts";
