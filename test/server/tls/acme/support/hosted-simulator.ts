/**
 * The hosted DNS provider's API by its public reference: zones and their TXT records, tokens with permissions, pages,
 * its error codes; with switches for faults.
 */
import { createServer, type IncomingMessage } from "node:http";

interface Right {
  /** Readable zones; none if omitted. */
  readonly reads?: readonly string[];
  /** Zones with readable and writable records. */
  readonly writes?: readonly string[];
}

export interface Fault {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Replaces the envelope with `code`. */
  readonly body?: string;
  readonly code?: number;
  readonly message?: string;
}

interface TxtRow {
  readonly id: string;
  readonly zone: string;
  readonly name: string;
  readonly content: string;
  readonly ttl: number;
}

export interface HostedSimulator {
  readonly base: string;
  readonly records: TxtRow[];
  /** Received requests as `METHOD path`. */
  readonly requests: string[];
  /** Received tokens, each with the kind of its request. */
  readonly tokens: [string, "zones" | "records"][];
  /** Zones by name, with their status. */
  readonly zones: Map<string, string>;
  /** Called before each request; a result is the answer. */
  fault: (method: string, path: string) => Fault | "silence" | undefined;
  /** Replaces the requested page size. */
  pageSize: number | undefined;
  close(): Promise<void>;
}

const LIMIT_BODY = 64 * 1024;

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = "";
  for await (const chunk of request) {
    text += chunk;
    if (text.length > LIMIT_BODY) throw new Error("a body is too long");
  }
  return JSON.parse(text);
}

const idOf = (zone: string): string => Buffer.from(zone).toString("hex").padEnd(32, "0").slice(0, 32);

export async function hostedSimulator(rights: Readonly<Record<string, Right>>): Promise<HostedSimulator> {
  let counter = 0;
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://api");
    const path = url.pathname.replace("/client/v4", "");
    const method = request.method ?? "";
    const answer = (status: number, body: object | string, headers: Readonly<Record<string, string>> = {}): void => {
      response.writeHead(status, {
        "content-type": typeof body === "string" ? "text/html" : "application/json",
        ...headers,
      });
      response.end(typeof body === "string" ? body : JSON.stringify(body));
    };
    const refuse = (status: number, code: number, message: string, headers = {}): void =>
      answer(status, { result: null, success: false, errors: [{ code, message }], messages: [] }, headers);
    const grant = (result: unknown, info?: object): void =>
      answer(200, { result, success: true, errors: [], messages: [], ...(info && { result_info: info }) });

    const paged = (rows: readonly object[]): void => {
      const page = Number(url.searchParams.get("page") ?? 1);
      const size = simulator.pageSize ?? Number(url.searchParams.get("per_page") ?? 20);
      const part = rows.slice((page - 1) * size, page * size);
      const total = Math.ceil(rows.length / size);
      grant(part, { page, per_page: size, total_pages: total, count: part.length, total_count: rows.length });
    };

    const serve = async (): Promise<void> => {
      simulator.requests.push(`${method} ${path}${url.search}`);
      const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? "")?.[1];
      simulator.tokens.push([token ?? "", path === "/zones" ? "zones" : "records"]);
      const fault = simulator.fault(method, path);
      if (fault === "silence") return;
      if (fault !== undefined) {
        const { status, headers, body, code = 0, message = "" } = fault;
        return body === undefined ? refuse(status, code, message, headers) : answer(status, body, headers);
      }
      if (token === undefined) return refuse(400, 6003, "Invalid request headers");
      const right = rights[token];
      if (right === undefined) return refuse(403, 10000, "Authentication error");
      if (method === "GET" && path === "/zones") {
        const name = url.searchParams.get("name") ?? "";
        const seen = [...(right.reads ?? []), ...(right.writes ?? [])];
        const found = [...simulator.zones].filter(([zone]) => zone === name && seen.includes(zone));
        return paged(found.map(([zone, status]) => ({ id: idOf(zone), name: zone, status })));
      }
      const [, id, record] = /^\/zones\/([0-9a-f]{32})\/dns_records(?:\/(\w+))?$/.exec(path) ?? [];
      const zone = [...simulator.zones.keys()].find((it) => idOf(it) === id);
      if (zone === undefined) return refuse(404, 7003, "Could not route to the zone");
      if (right.writes?.includes(zone) !== true) return refuse(403, 10000, "Authentication error");
      if (method === "GET") {
        const name = url.searchParams.get("name");
        return paged(simulator.records.filter((it) => it.zone === zone && it.name === name));
      }
      if (method === "DELETE") {
        const at = simulator.records.findIndex((it) => it.id === record && it.zone === zone);
        if (at < 0) return refuse(404, 81044, "Record does not exist.");
        simulator.records.splice(at, 1);
        return grant({ id: record });
      }
      const { type, name, content, ttl } = await bodyOf(request);
      if (type !== "TXT" || typeof content !== "string" || typeof name !== "string" || !/^".*"$/.test(content)) {
        return refuse(400, 9207, "Content for TXT record is invalid.");
      }
      if (!(Number(ttl) === 1 || (Number(ttl) >= 60 && Number(ttl) <= 86_400)))
        return refuse(400, 9021, "Invalid TTL.");
      if (simulator.records.some((it) => it.name === name && it.content === content)) {
        return refuse(400, 81058, "An identical record already exists.");
      }
      counter += 1;
      const row = { id: counter.toString(16).padStart(32, "0"), zone, name, content, ttl: Number(ttl) };
      simulator.records.push(row);
      grant({ ...row, type });
    };
    serve().catch(() => refuse(500, 1, "the simulator failed"));
  });
  server.listen(0, "127.0.0.1");
  await new Promise((ready) => server.once("listening", ready));
  const { port } = server.address() as { port: number };
  const simulator: HostedSimulator = {
    base: `http://127.0.0.1:${port}/client/v4`,
    records: [],
    requests: [],
    tokens: [],
    zones: new Map(),
    fault: () => undefined,
    pageSize: undefined,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  return simulator;
}
