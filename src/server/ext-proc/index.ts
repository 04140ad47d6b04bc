export type { ExternalProcessorClient } from "./generated/envoy/service/ext_proc/v3/ExternalProcessor.ts";
export type { HeaderMutation__Output } from "./generated/envoy/service/ext_proc/v3/HeaderMutation.ts";
export type { Metadata } from "./generated/envoy/service/ext_proc/v3/Metadata.ts";
export type {
  ProcessingRequest,
  ProcessingRequest__Output,
} from "./generated/envoy/service/ext_proc/v3/ProcessingRequest.ts";
export type {
  ProcessingResponse,
  ProcessingResponse__Output,
} from "./generated/envoy/service/ext_proc/v3/ProcessingResponse.ts";
export { type ExtProc, type Grpc, loadExtProc } from "./load.ts";
export { structOf, textIn } from "./struct.ts";
