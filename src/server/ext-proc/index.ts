/** Defines the wire types of ext_proc, for the picker client and the inspector. */

export { type ExtProc, type Grpc, loadExtProc } from "./load-ext-proc.ts";
export type {
  ExternalProcessorClient,
  HeaderMutation__Output,
  Metadata,
  ProcessingRequest,
  ProcessingRequest__Output,
  ProcessingResponse,
  ProcessingResponse__Output,
} from "./messages.generated.ts";
export { nestedText, toStruct } from "./struct.ts";
