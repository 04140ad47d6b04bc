/**
 * An external processing service that inspects nothing and lets each message pass. Its one argument is the path of the
 * service's definition.
 */

import { loadPackageDefinition, Server, ServerCredentials, type ServerDuplexStream } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { endWithParent, type Listening } from "./channel.ts";

interface Message {
  /** Name of the only member that is set. */
  readonly request?: string;
}

interface Definition {
  readonly envoy: {
    readonly service: {
      readonly ext_proc: {
        readonly v3: { readonly ExternalProcessor: { readonly service: Parameters<Server["addService"]>[0] } };
      };
    };
  };
}

const definition = loadSync(process.argv[2] ?? "", { keepCase: true, longs: Number, oneofs: true });
const { envoy } = loadPackageDefinition(definition) as unknown as Definition;
const server = new Server();
server.addService(envoy.service.ext_proc.v3.ExternalProcessor.service, {
  Process(call: ServerDuplexStream<Message, object>) {
    call.on("data", ({ request }: Message) => {
      if (request !== undefined) call.write({ [request]: {} });
    });
    call.on("end", () => call.end());
    call.on("error", () => undefined);
  },
});
endWithParent();
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  const message: Listening = { kind: "listening", port };
  process.send?.(message);
});
