/** Serves gRPC health (grpc.health.v1): reports to checks and watchers when the server accepts no more streams. */
import type { ServerUnaryCall, ServerWritableStream, sendUnaryData, UntypedServiceImplementation } from "@grpc/grpc-js";
import type { Grpc } from "../ext-proc/index.ts";

interface HealthRequest {
  readonly service?: string;
}
interface HealthAnswer {
  readonly status: number;
}

const SERVING = 1;
const NOT_SERVING = 2;
const SERVICE_UNKNOWN = 3;

/** Names of the services that can be checked. The empty name means the whole server. */
const SERVICES: ReadonlySet<string> = new Set(["", "envoy.service.ext_proc.v3.ExternalProcessor"]);

/** Maximum number of watchers. One node has only a few peers and probes. */
const MAX_WATCHERS = 256;

const MESSAGES = {
  HealthCheckRequest: { fields: { service: { type: "string", id: 1 } } },
  HealthCheckResponse: { fields: { status: { type: "int32", id: 1 } } },
};
const METHODS = {
  Check: { requestType: "HealthCheckRequest", responseType: "HealthCheckResponse" },
  Watch: { requestType: "HealthCheckRequest", responseType: "HealthCheckResponse", responseStream: true },
};

interface Health {
  readonly addTo: (server: InstanceType<Grpc["Server"]>) => void;
  /** Reports NOT_SERVING to all watchers and ends their calls. */
  readonly stopServing: () => void;
}

export async function createHealth(grpc: Grpc): Promise<Health> {
  const { fromJSON } = await import("@grpc/proto-loader");
  const path = ["grpc", "health", "v1"];
  const serviceDefinition = path.reduceRight<object>((nested, name) => ({ nested: { [name]: nested } }), {
    nested: { ...MESSAGES, Health: { methods: METHODS } },
  });
  const definition = fromJSON(serviceDefinition)["grpc.health.v1.Health"];
  let isServing = true;
  const watchers = new Set<ServerWritableStream<HealthRequest, HealthAnswer>>();
  const statusNow = (): number => (isServing ? SERVING : NOT_SERVING);
  const implementation = {
    Check(
      { request: { service = "" } }: ServerUnaryCall<HealthRequest, HealthAnswer>,
      answer: sendUnaryData<HealthAnswer>,
    ): void {
      if (SERVICES.has(service)) answer(null, { status: statusNow() });
      else answer({ code: grpc.status.NOT_FOUND, details: "no such service" });
    },
    Watch(call: ServerWritableStream<HealthRequest, HealthAnswer>): void {
      call.on("error", () => undefined);
      if (watchers.size >= MAX_WATCHERS) {
        call.emit("error", { code: grpc.status.RESOURCE_EXHAUSTED, details: "there are too many watchers" });
        return;
      }
      const isKnown = SERVICES.has(call.request.service ?? "");
      call.write({ status: isKnown ? statusNow() : SERVICE_UNKNOWN });
      watchers.add(call);
      call.on("cancelled", () => watchers.delete(call));
    },
  } satisfies UntypedServiceImplementation;
  return {
    addTo(server) {
      if (definition === undefined || "format" in definition) throw new Error("the health service is not defined");
      server.addService(definition, implementation);
    },
    stopServing() {
      isServing = false;
      for (const call of watchers) {
        if (SERVICES.has(call.request.service ?? "")) call.write({ status: NOT_SERVING });
        call.end();
      }
      watchers.clear();
    },
  };
}
