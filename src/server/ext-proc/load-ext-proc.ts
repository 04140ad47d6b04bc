/**
 * The external processing service as gRPC knows it: proto/ read once, when something of the configuration needs it. gRPC is
 * loaded by then and not before. Source: ext_proc v3; field numbers are those of proto/external_processor.proto.
 */
import { fileURLToPath } from "node:url";
import type { ProtoGrpcType } from "./messages.generated.ts";

export type Grpc = typeof import("@grpc/grpc-js");

export interface ExtProc {
  readonly grpc: Grpc;
  readonly ExternalProcessor: ProtoGrpcType["envoy"]["service"]["ext_proc"]["v3"]["ExternalProcessor"];
}

/** From the build's chunks proto/ is a folder up, from here three. */
const path = fileURLToPath(
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
  const definition = loadSync(path, { keepCase: true, longs: Number, oneofs: true });
  const loaded = grpc.loadPackageDefinition(definition) as unknown as ProtoGrpcType;
  return { grpc, ExternalProcessor: loaded.envoy.service.ext_proc.v3.ExternalProcessor };
}
