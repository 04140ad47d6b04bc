/**
 * A server of the v2 inference protocol over real sockets, which runs graph files, accepts only what the protocol
 * allows, and misbehaves on request. Source: kserve-v2 reference.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";

interface Tensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data: ArrayLike<number | bigint>;
}

/** Answer of a correct server. */
export interface Inferred {
  readonly id: string | undefined;
  readonly isBinary: boolean;
  readonly output: Tensor;
}

interface ServerAsked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
  /** Number of sequences in an inference request. */
  readonly rows: number;
}

export interface InferenceServer {
  readonly url: string;
  readonly requests: readonly ServerAsked[];
  /** Protocol violations of its clients. */
  readonly complaints: readonly string[];
  readonly inFlight: { now: number; most: number };
  connections(): number;
  /** Refuses more sequences at once. */
  mostRows: number;
  offersBinary: boolean;
  version: string;
  isReady: boolean;
  /** Replacements in a model's metadata. */
  metadata: Readonly<Record<string, unknown>>;
  /** Sees every request first, and answers it if it returns true. */
  meet: (requests: ServerAsked, response: ServerResponse) => boolean;
  /** Answers instead of the correct server; `false` leaves the answer to it. */
  err: (inferred: Inferred, response: ServerResponse) => unknown;
}

const TYPES: Readonly<Record<string, string>> = { int64: "INT64", int32: "INT32", float32: "FP32" };
const SIZES: Readonly<Record<string, number>> = { INT64: 8, INT32: 4 };

interface Session {
  readonly inputMetadata: readonly { name: string; type: string; shape: readonly (number | string)[] }[];
  readonly outputMetadata: Session["inputMetadata"];
  run(
    feeds: object,
    fetches: readonly string[],
  ): Promise<Readonly<Record<string, { dims: readonly number[]; data: Float32Array }>>>;
}

interface Options {
  /** Path of `onnxruntime-node` for `require`; "" if no graph is run. */
  readonly runtime: string;
  /** Paths of graphs by their served name. */
  readonly models: Readonly<Record<string, string>>;
  readonly port?: number;
}

export async function startInferenceServer(
  owner: { after(end: () => void): void },
  { runtime, models, port = 0 }: Options,
): Promise<InferenceServer> {
  const requests: ServerAsked[] = [];
  const complaints: string[] = [];
  const inFlight = { now: 0, most: 0 };
  const sessions = new Map<string, Promise<Session>>();
  let connections = 0;
  const sessionOf = (model: string): Promise<Session> => {
    const { InferenceSession } = createRequire(import.meta.url)(runtime);
    const session = sessions.get(model) ?? InferenceSession.create(models[model], { logSeverityLevel: 4 });
    sessions.set(model, session);
    return session;
  };

  const infer = async (model: string, one: ServerAsked): Promise<Inferred | string> => {
    const read = inputsIn(one);
    if (typeof read === "string") return read;
    const session = await sessionOf(model);
    const wanted = session.inputMetadata.map(({ name, type }) => `${name} ${TYPES[type]}`).sort();
    const inputTypes = read.inputs.map(({ name, datatype }) => `${name} ${datatype}`).sort();
    if (wanted.join() !== inputTypes.join()) return `inputs are ${wanted.join()}, not ${inputTypes.join()}`;
    if (read.rows > server.mostRows) return `at most ${server.mostRows} at once`;
    const { Tensor } = createRequire(import.meta.url)(runtime);
    const feeds = Object.fromEntries(
      read.inputs.map(({ name, datatype, data, shape }) => [name, new Tensor(datatype.toLowerCase(), data, shape)]),
    );
    const [name = ""] = read.outputs;
    const answer = (await session.run(feeds, [name]))[name];
    if (answer === undefined) return `no output ${name}`;
    const output = { name, datatype: "FP32", shape: answer.dims, data: answer.data };
    return { id: read.id, isBinary: read.isBinary, output };
  };

  const route = async (one: ServerAsked, response: ServerResponse): Promise<void> => {
    const [, kind, model = "", rest = ""] =
      /^\/(?:prefix\/)?v2(?:\/(health\/ready|models)(?:\/([^/]+))?(?:\/versions\/\d+)?(?:\/(infer|ready))?)?$/.exec(
        one.path,
      ) ?? ["", "none"];
    if (kind === undefined) {
      const extensions = server.offersBinary ? ["classification", "binary_tensor_data"] : [];
      return json(response, 200, { name: "test", version: "1.0", extensions });
    }
    if (kind === "health/ready") return void response.writeHead(server.isReady ? 200 : 400).end();
    const name = decodeURIComponent(model);
    if (kind !== "models" || !Object.hasOwn(models, name)) return json(response, 404, { error: `unknown ${name}` });
    if (rest === "ready") return void response.writeHead(server.isReady ? 200 : 400).end();
    if (rest === "") {
      const { inputMetadata, outputMetadata } = await sessionOf(name);
      const tensorMetadata = (all: Session["inputMetadata"]): readonly object[] =>
        all.map(({ name, type, shape }) => ({
          name,
          datatype: TYPES[type],
          shape: shape.map((size) => (typeof size === "number" ? size : -1)),
        }));
      return json(response, 200, {
        name,
        versions: [server.version],
        platform: "onnxruntime_onnx",
        inputs: tensorMetadata(inputMetadata),
        outputs: tensorMetadata(outputMetadata),
        ...server.metadata,
      });
    }
    if (one.method !== "POST") return json(response, 405, { error: "method" });
    const inferred = await infer(name, one);
    if (typeof inferred === "string") {
      if (!inferred.startsWith("at most")) complaints.push(inferred);
      return json(response, 400, { error: inferred });
    }
    if ((await server.err(inferred, response)) !== false) return;
    send(response, inferred, name, server.version);
  };

  const listener = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    inFlight.now += 1;
    inFlight.most = Math.max(inFlight.most, inFlight.now);
    response.once("close", () => {
      inFlight.now -= 1;
    });
    const body = Buffer.concat(chunks);
    const rows = body.length === 0 ? 0 : rowsIn(body, request.headers);
    const one = { method: request.method ?? "", path: request.url ?? "", headers: request.headers, body, rows };
    requests.push(one);
    if (!server.meet(one, response)) await route(one, response);
  });
  listener.on("connection", () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => {
    listener.listen(port, "127.0.0.1", resolve);
  });
  owner.after(() => {
    listener.closeAllConnections();
    listener.close();
  });
  const server: InferenceServer = {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    requests,
    complaints,
    inFlight,
    connections: () => connections,
    mostRows: 1_000,
    offersBinary: false,
    version: "1",
    isReady: true,
    metadata: {},
    meet: () => false,
    err: () => false,
  };
  return server;
}

function json(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

function send(response: ServerResponse, { id, isBinary, output }: Inferred, model: string, version: string): void {
  const { data, ...description } = output;
  const bytes = isBinary ? bytesOf(data) : undefined;
  const own =
    bytes === undefined
      ? { ...description, data: Array.from(data, Number) }
      : { ...description, parameters: { binary_data_size: bytes.length } };
  const text = JSON.stringify({ id, model_name: model, model_version: version, outputs: [own] });
  if (bytes === undefined) response.writeHead(200, { "content-type": "application/json" }).end(text);
  else sendBinary(response, text, bytes);
}

export const bytesOf = (data: ArrayLike<number | bigint>): Buffer => {
  const floats = Float32Array.from(data, Number);
  return Buffer.from(floats.buffer);
};

export function sendBinary(
  response: ServerResponse,
  text: string,
  bytes: Uint8Array,
  length = Buffer.byteLength(text),
): void {
  response
    .writeHead(200, { "content-type": "application/octet-stream", "inference-header-content-length": length })
    .end(Buffer.concat([Buffer.from(text), bytes]));
}

const headOf = (body: Buffer, headers: IncomingMessage["headers"]): number =>
  Number(headers["inference-header-content-length"] ?? body.length);

function rowsIn(body: Buffer, headers: IncomingMessage["headers"]): number {
  return JSON.parse(body.subarray(0, headOf(body, headers)).toString()).inputs[0].shape[0];
}

interface Request {
  readonly id: string | undefined;
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly string[];
  readonly rows: number;
  readonly isBinary: boolean;
}

/** Otherwise returns the error as text. */
function inputsIn({ body, headers }: ServerAsked): Request | string {
  if (headers["transfer-encoding"] !== undefined) return "it is sent in chunks";
  const head = headOf(body, headers);
  const isBinary = headers["inference-header-content-length"] !== undefined;
  const type = isBinary ? "application/octet-stream" : "application/json";
  if (headers["content-type"] !== type) return `its type is ${headers["content-type"]}`;
  const { id, inputs, outputs } = JSON.parse(body.subarray(0, head).toString());
  let at = head;
  const read: Tensor[] = [];
  for (const { name, shape, datatype, data, parameters } of inputs) {
    const count = shape.reduce((product: number, size: number) => product * size, 1);
    const size = parameters?.binary_data_size;
    if ((size === undefined) === (data === undefined)) return `${name} is given twice, or not at all`;
    if (size !== undefined && size !== count * (SIZES[datatype] ?? 0)) return `${name} has ${size} bytes`;
    if (data !== undefined && data.length !== count) return `${name} has ${data.length} numbers`;
    const view = new DataView(body.buffer, body.byteOffset + at, size ?? 0);
    const value = (index: number): bigint =>
      data !== undefined
        ? BigInt(data[index])
        : datatype === "INT64"
          ? view.getBigInt64(8 * index, true)
          : BigInt(view.getInt32(4 * index, true));
    const values = Array.from({ length: count }, (_, index) => value(index));
    read.push({
      name,
      shape,
      datatype,
      data: datatype === "INT64" ? BigInt64Array.from(values) : Int32Array.from(values, Number),
    });
    at += size ?? 0;
  }
  if (at !== body.length) return `${body.length - at} bytes are left`;
  const names = outputs.map(({ name, parameters }: { name: string; parameters?: { binary_data?: boolean } }) =>
    (parameters?.binary_data === true) === isBinary ? name : "",
  );
  return { id, inputs: read, outputs: names, rows: read[0]?.shape[0] ?? 0, isBinary };
}
