/**
 * Loads the external processing service for gRPC from proto/ once, when some part of the configuration needs it. gRPC itself is
 * not loaded before. Source: ext_proc v3; field numbers are those of proto/external_processor.proto.
 */
import { fileURLToPath } from "node:url";
import type { ProtoGrpcType } from "./messages.generated.ts";

export type Grpc = typeof import("@grpc/grpc-js");

export interface ExtProc {
  readonly grpc: Grpc;
  readonly ExternalProcessor: ProtoGrpcType["envoy"]["service"]["ext_proc"]["v3"]["ExternalProcessor"];
}

/** Path of the definition. The build's chunks are one folder below proto/'s parent, this source file three. */
const PROTO_PATH = fileURLToPath(
  new URL(
    import.meta.url.endsWith(".ts") ? "../../../proto/external_processor.proto" : "../proto/external_processor.proto",
    import.meta.url,
  ),
);

let loading: Promise<ExtProc> | undefined;

export function loadExtProc(): Promise<ExtProc> {
  loading ??= load();
  return loading;
}

async function load(): Promise<ExtProc> {
  const [grpc, { loadSync }] = await Promise.all([import("@grpc/grpc-js"), import("@grpc/proto-loader")]);
  const definition = loadSync(PROTO_PATH, { keepCase: true, longs: Number, oneofs: true });
  const loaded = grpc.loadPackageDefinition(definition) as unknown as ProtoGrpcType;
  return { grpc, ExternalProcessor: loaded.envoy.service.ext_proc.v3.ExternalProcessor };
}
