/** A real Envoy with one listener, whose filter calls an inspector for each request. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders, request, type Server } from "node:http";
import { connect } from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Milliseconds to load its configuration on a loaded machine. */
const START_MS = 60_000;

/** Modes of a filter: `override` leaves bodies to the service's override. */
export interface FilterModes {
  readonly request: "override" | "streamed" | "duplex";
  readonly response: "off" | "override" | "streamed" | "buffered" | "duplex";
}

const REQUESTS: Readonly<Record<FilterModes["request"], object>> = {
  override: { request_body_mode: "NONE" },
  streamed: { request_body_mode: "STREAMED", request_trailer_mode: "SEND" },
  duplex: { request_body_mode: "FULL_DUPLEX_STREAMED", request_trailer_mode: "SEND" },
};

const RESPONSES: Readonly<Record<FilterModes["response"], object>> = {
  off: { response_header_mode: "SKIP" },
  override: { response_header_mode: "SKIP", response_body_mode: "NONE" },
  streamed: { response_header_mode: "SEND", response_body_mode: "STREAMED", response_trailer_mode: "SEND" },
  buffered: { response_header_mode: "SEND", response_body_mode: "BUFFERED" },
  duplex: { response_header_mode: "SEND", response_body_mode: "FULL_DUPLEX_STREAMED", response_trailer_mode: "SEND" },
};

const cluster = (name: string, port: number, isHttp2: boolean): object => ({
  name,
  type: "STATIC",
  connect_timeout: "5s",
  load_assignment: {
    cluster_name: name,
    endpoints: [
      { lb_endpoints: [{ endpoint: { address: { socket_address: { address: "127.0.0.1", port_value: port } } } }] },
    ],
  },
  ...(isHttp2 && {
    typed_extension_protocol_options: {
      "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        explicit_http_config: { http2_protocol_options: {} },
      },
    },
  }),
});

interface Ports {
  /** `undefined` for no filter. */
  readonly inspector: number | undefined;
  readonly upstream: number;
  /** HTTP/2 upstream for requests with `x-http2`. */
  readonly upstream2?: number;
}

function bootstrap(modes: FilterModes, { inspector, upstream, upstream2 = upstream }: Ports): object {
  const filter = {
    "@type": "type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor",
    grpc_service: { envoy_grpc: { cluster_name: "inspector" }, timeout: "30s" },
    failure_mode_allow: false,
    allow_mode_override: modes.request === "override",
    message_timeout: "10s",
    processing_mode: { request_header_mode: "SEND", ...REQUESTS[modes.request], ...RESPONSES[modes.response] },
  };
  const manager = {
    "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
    stat_prefix: "in",
    route_config: {
      virtual_hosts: [
        {
          name: "all",
          domains: ["*"],
          routes: [
            {
              match: { prefix: "/", headers: [{ name: "x-http2", present_match: true }] },
              route: { cluster: "http2" },
            },
            { match: { prefix: "/" }, route: { cluster: "upstream" } },
          ],
        },
      ],
    },
    http_filters: [
      ...(inspector === undefined ? [] : [{ name: "envoy.filters.http.ext_proc", typed_config: filter }]),
      {
        name: "envoy.filters.http.router",
        typed_config: { "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router" },
      },
    ],
  };
  const anyPort = { socket_address: { address: "127.0.0.1", port_value: 0 } };
  return {
    admin: { address: anyPort },
    static_resources: {
      listeners: [
        {
          name: "in",
          address: anyPort,
          filter_chains: [
            { filters: [{ name: "envoy.filters.network.http_connection_manager", typed_config: manager }] },
          ],
        },
      ],
      clusters: [
        ...(inspector === undefined ? [] : [cluster("inspector", inspector, true)]),
        cluster("upstream", upstream, false),
        cluster("http2", upstream2, true),
      ],
    },
  };
}

export interface Upstream {
  readonly port: number;
  /** Complete bodies received. */
  readonly bodies: Buffer[];
  readonly close: () => Promise<void>;
}

/** Answers 200 with the length of the request body. */
export async function openUpstream(): Promise<Upstream> {
  const bodies: Buffer[] = [];
  const server: Server = createServer((asked, answer) => {
    const chunks: Buffer[] = [];
    asked.on("data", (chunk: Buffer) => chunks.push(chunk));
    asked.on("error", () => undefined);
    asked.on("end", () => {
      const body = Buffer.concat(chunks);
      bodies.push(body);
      answer.end(String(body.length));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    bodies,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface PostOptions {
  readonly isChunked?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Envoy {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  readonly port: number;
  readonly post: (body: Buffer, options?: PostOptions) => Promise<Answered>;
  /** Uses HTTP/2 with trailers. Returns status and body. */
  readonly postWithTrailers: (body: Buffer) => Promise<Pick<Answered, "status" | "body">>;
  /** Counters of the filter, by the last part of their names. */
  readonly counters: () => Promise<ReadonlyMap<string, number>>;
  readonly stop: () => Promise<void>;
}

export async function startEnvoy(binary: string, modes: FilterModes, ports: Ports): Promise<Envoy> {
  const folder = await mkdtemp(join(tmpdir(), "gateway-envoy-"));
  const config = join(folder, "envoy.json");
  const adminFile = join(folder, "admin");
  await writeFile(config, JSON.stringify(bootstrap(modes, ports)));
  const args = ["-c", config, "--admin-address-path", adminFile, "--use-dynamic-base-id", "--concurrency", "1"];
  const child = spawn(binary, [...args, "--log-level", "warning"], { stdio: ["ignore", "ignore", "pipe"] });
  let output = "";
  child.stderr.on("data", (chunk: Buffer) => {
    output = `${output}${chunk}`.slice(-4_000);
  });
  const stop = async (): Promise<void> => {
    await ended(child);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const until = Date.now() + START_MS;
    const admin = await eventually(child, until, async () => {
      const written = await readFile(adminFile, "utf8");
      if (written === "") throw new Error("its address is not written yet");
      return written;
    });
    const port = await eventually(child, until, async () => {
      const listed = await fetch(`http://${admin.trim()}/listeners?format=json`);
      const { listener_statuses: statuses } = (await listed.json()) as {
        readonly listener_statuses: readonly {
          readonly local_address: { readonly socket_address: { readonly port_value: number } };
        }[];
      };
      const bound = statuses[0]?.local_address.socket_address.port_value;
      if (bound === undefined || bound === 0) throw new Error("it does not listen yet");
      return bound;
    });
    return {
      url: `http://127.0.0.1:${port}`,
      port,
      post: (body, options) => post(port, body, options ?? {}),
      postWithTrailers: (body) => postWithTrailers(port, body),
      async counters() {
        const text = await (await fetch(`http://${admin.trim()}/stats?filter=ext_proc`)).text();
        const rows = text.split("\n").map((line) => /ext_proc\.(\w+): (\d+)$/.exec(line.trim()));
        return new Map(rows.flatMap((row) => (row === null ? [] : [[row[1] ?? "", Number(row[2])] as const])));
      },
      stop,
    };
  } catch (cause) {
    await stop();
    throw new Error(`Envoy did not start: ${output}`, { cause });
  }
}

async function eventually<Value>(child: ChildProcess, until: number, ask: () => Promise<Value>): Promise<Value> {
  for (;;) {
    try {
      return await ask();
    } catch (cause) {
      if (child.exitCode !== null || Date.now() > until) throw cause;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

function post(port: number, body: Buffer, { isChunked = false, headers: further }: PostOptions): Promise<Answered> {
  const headers = {
    "content-type": "application/json",
    ...further,
    ...(isChunked ? { "transfer-encoding": "chunked" } : { "content-length": String(body.length) }),
  };
  const options = { host: "127.0.0.1", port, method: "POST", path: "/v1/chat/completions", headers, agent: false };
  return new Promise((resolve, reject) => {
    const asked = request(options, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("end", () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: String(Buffer.concat(chunks)) }),
      );
      answer.on("error", reject);
    });
    asked.on("error", reject);
    for (let at = 0; isChunked && at < body.length; at += 10_000) asked.write(body.subarray(at, at + 10_000));
    asked.end(isChunked ? undefined : body);
  });
}

async function postWithTrailers(port: number, body: Buffer): Promise<Pick<Answered, "status" | "body">> {
  const session = connect(`http://127.0.0.1:${port}`);
  try {
    const headers = { ":method": "POST", ":path": "/v1/chat/completions", "content-type": "application/json" };
    const stream = session.request(headers, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "x-digest": "abc" }));
    const status = once(stream, "response");
    stream.end(body);
    const [answer] = (await status) as [{ readonly ":status": number }];
    const chunks: Buffer[] = [];
    for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
    return { status: answer[":status"], body: String(Buffer.concat(chunks)) };
  } finally {
    session.destroy();
  }
}
