/**
 * An endpoint picker of a test, after the published protocol: it reads the whole body, then answers with a destination
 * in header and metadata, and receives the response events until the stream closes. The test decides its answers.
 */
import { join, resolve } from "node:path";
import { loadPackageDefinition, Server, ServerCredentials, type ServerDuplexStream } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { atEnd, type Owner } from "./wait.ts";

const PROTO = join(resolve(import.meta.dirname, "../../.."), "proto/external_processor.proto");

/** A message as proto-loader reads it. */
interface Message {
  readonly request_headers?: {
    readonly headers: { readonly headers: readonly Header[] };
    readonly end_of_stream?: boolean;
  };
  readonly request_body?: { readonly body?: Buffer; readonly end_of_stream?: boolean };
  readonly response_headers?: { readonly headers: { readonly headers: readonly Header[] } };
  readonly metadata_context?: { readonly filter_metadata: Readonly<Record<string, Struct>> };
  readonly protocol_config?: object;
}
interface Header {
  readonly key: string;
  readonly raw_value: Buffer;
}
interface Value {
  readonly stringValue?: string;
  readonly listValue?: { readonly values: readonly Value[] };
}
interface Struct {
  readonly fields: Readonly<Record<string, Value>>;
}

type Call = ServerDuplexStream<Message, object>;

interface PickerRequest {
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  /** The subset hint of each message of the request, `undefined` without one. */
  readonly hints: readonly (readonly string[] | undefined)[];
  /** `:status` and the serving member, once the response has begun. */
  response: { readonly status: string; readonly served: string | undefined } | undefined;
  /** Whether the gateway has closed or aborted the stream. */
  isOver: boolean;
}

/** Answers one complete request. */
type PickerScript = (call: Call, request: PickerRequest) => void;

interface Picker {
  readonly port: number;
  readonly requests: PickerRequest[];
  script: PickerScript;
  /** Answers each chunk before the headers, like the light reference picker. */
  isLiberal: boolean;
}

const DESTINATION = "x-gateway-destination-endpoint";

export const picks =
  (
    endpoints: string,
    { header = endpoints, echo }: { readonly header?: string; readonly echo?: Buffer } = {},
  ): PickerScript =>
  (call) => {
    const length = echo === undefined ? [] : [setTo("Content-Length", String(echo.length))];
    call.write({
      request_headers: {
        response: {
          clear_route_cache: true,
          header_mutation: { set_headers: [setTo(DESTINATION, header), ...length] },
        },
      },
      dynamic_metadata: {
        fields: { "envoy.lb": { structValue: { fields: { [DESTINATION]: { stringValue: endpoints } } } } },
      },
    });
    for (let at = 0; echo !== undefined && at < echo.length; at += 62_000) {
      const body = echo.subarray(at, at + 62_000);
      const streamed_response = { body, end_of_stream: at + 62_000 >= echo.length };
      call.write({ request_body: { response: { body_mutation: { streamed_response } } } });
    }
  };

const setTo = (key: string, value: string) => ({ header: { key, raw_value: Buffer.from(value) } });

export const refuses =
  (code: number, body = "", headers: readonly (readonly [string, string])[] = []): PickerScript =>
  (call) => {
    const set_headers = headers.map(([name, value]) => setTo(name, value));
    call.write({ immediate_response: { status: { code }, body: Buffer.from(body), headers: { set_headers } } });
  };

export async function testPicker(owner: Owner, script: PickerScript, credentials = ServerCredentials.createInsecure()) {
  const server = new Server();
  const loaded = loadPackageDefinition(loadSync(PROTO, { keepCase: true, longs: Number, oneofs: true }));
  const { ExternalProcessor } = at(loaded, "envoy", "service", "ext_proc", "v3");
  const picker: Picker = { port: 0, requests: [], script, isLiberal: false };
  server.addService((ExternalProcessor as { service: Parameters<Server["addService"]>[0] }).service, {
    Process: (call: Call) => serve(call, picker),
  });
  const port = await new Promise<number>((bound, failed) =>
    server.bindAsync("127.0.0.1:0", credentials, (error, found) => (error === null ? bound(found) : failed(error))),
  );
  atEnd(owner, () => server.forceShutdown());
  return Object.assign(picker, { port, stop: () => server.forceShutdown() });
}

function at(loaded: unknown, ...names: readonly string[]): Readonly<Record<string, unknown>> {
  return names.reduce(
    (object, name) => object[name] as Readonly<Record<string, unknown>>,
    loaded as Readonly<Record<string, unknown>>,
  );
}

function serve(call: Call, picker: Picker): void {
  let headers = new Map<string, string>();
  const chunks: Buffer[] = [];
  const hints: (readonly string[] | undefined)[] = [];
  let request: PickerRequest | undefined;
  const whole = (): void => {
    request = { headers, body: Buffer.concat(chunks), hints: [...hints], response: undefined, isOver: false };
    picker.requests.push(request);
    picker.script(call, request);
  };
  call.on("data", (message: Message) => {
    const hint = message.metadata_context?.filter_metadata["envoy.lb.subset_hint"];
    const list = hint?.fields["x-gateway-destination-endpoint-subset"]?.listValue?.values;
    hints.push(list?.map(({ stringValue }) => stringValue ?? ""));
    if (message.request_headers !== undefined) {
      headers = pairsOf(message.request_headers.headers.headers);
      if (message.request_headers.end_of_stream === true) whole();
    } else if (message.request_body !== undefined) {
      chunks.push(message.request_body.body ?? Buffer.alloc(0));
      if (picker.isLiberal) call.write({ request_body: {} });
      if (message.request_body.end_of_stream === true) whole();
    } else if (message.response_headers !== undefined && request !== undefined) {
      const served =
        message.metadata_context?.filter_metadata["envoy.lb"]?.fields[`${DESTINATION}-served`]?.stringValue;
      request.response = { status: pairsOf(message.response_headers.headers.headers).get(":status") ?? "", served };
      call.write({ response_headers: {} });
    }
  });
  call.on("end", () => {
    if (request !== undefined) request.isOver = true;
    call.end();
  });
  call.on("cancelled", () => {
    if (request !== undefined) request.isOver = true;
  });
  call.on("error", () => undefined);
}

const pairsOf = (headers: readonly Header[]): Map<string, string> =>
  new Map(headers.map(({ key, raw_value: value }) => [key, value.toString("latin1")]));
