/**
 * A proxy with a filter like agentgateway's where it differs from Envoy's: on the wire, in the answers it accepts, and
 * without an answer. It serves HTTP/1.1. Source: ext-proc reference, A.9; agentgateway,
 * `crates/agentgateway/src/http/ext_proc` of 2026-08-21.
 */
import { once } from "node:events";
import {
  type ClientRequest,
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { credentials } from "@grpc/grpc-js";
import {
  loadExtProc,
  type ProcessingRequest,
  type ProcessingResponse__Output,
} from "../../../../src/server/ext-proc/index.ts";

const { ExternalProcessor } = await loadExtProc();

const MODES = { none: 0, streamed: 1, buffered: 2, duplex: 4 } as const;
/** It has no streamed mode. */
type Mode = "none" | "buffered" | "duplex";

export interface AgentgatewayOptions {
  /** Ports. */
  readonly inspector: number;
  readonly upstream: number;
  readonly request?: Mode;
  readonly response?: Mode;
  readonly sendsResponseHeaders?: boolean;
  readonly allowsOverride?: boolean;
  readonly failsOpen?: boolean;
}

interface Agentgateway {
  readonly port: number;
  /** All answers to its filter, in order. */
  readonly answers: ProcessingResponse__Output[];
  /** Its warnings about them. */
  readonly warnings: string[];
  readonly close: () => Promise<void>;
}

type Response = ProcessingResponse__Output;
type Side = "request" | "response";
type Headers = OutgoingHttpHeaders;

class Broken extends Error {}

export async function openAgentgateway(options: AgentgatewayOptions): Promise<Agentgateway> {
  const { inspector, request: requestMode = "duplex", response: responseMode = "duplex" } = options;
  const { sendsResponseHeaders = true, allowsOverride = false, failsOpen = false } = options;
  const client = new ExternalProcessor(`127.0.0.1:${inspector}`, credentials.createInsecure());
  const reported: Response[] = [];
  const warnings: string[] = [];

  const server = createServer((asked, answer) => {
    exchange(asked, answer).catch((error: unknown) => {
      if (!(error instanceof Broken)) throw error;
      if (answer.headersSent) answer.destroy();
      else answer.writeHead(500).end(error.message);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    answers: reported,
    warnings,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
      client.close();
    },
  };

  async function exchange(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const call = client.Process();
    const inboxes = { request: new Inbox(), response: new Inbox() };
    const over = (): void => {
      inboxes.request.put(undefined);
      inboxes.response.put(undefined);
    };
    call.on("data", (message: Response) => {
      reported.push(message);
      const { immediate_response: direct, dynamic_metadata: metadata } = message;
      if (metadata && message.request_headers === undefined && message.response_headers === undefined) {
        warnings.push("dynamic_metadata after headers");
      }
      // Its body is a string there, so other bytes make the message undecodable.
      if (direct && !isUtf8(direct.body ?? Buffer.alloc(0))) call.cancel();
      else if (direct) for (const inbox of Object.values(inboxes)) inbox.put(message);
      else if (message.response !== undefined)
        inboxes[message.response.startsWith("request") ? "request" : "response"].put(message);
    });
    call.on("error", over);
    call.on("end", over);
    const write = (message: ProcessingRequest): void => {
      if (!call.destroyed && !call.writableEnded) call.write(message);
    };

    const modes = { request: requestMode, response: responseMode };
    let sendsHeaders = sendsResponseHeaders;
    const overridden = (message: Response): void => {
      const wanted = message.mode_override;
      if (!wanted) return;
      if (!allowsOverride) {
        warnings.push("mode_override is not allowed");
        return;
      }
      if (wanted.request_body_mode === MODES.streamed || wanted.response_body_mode === MODES.streamed) {
        warnings.push("mode_override body_mode=STREAMED is not implemented");
      }
      if ((wanted.response_body_mode ?? 0) === MODES.none && modes.response !== "duplex") modes.response = "none";
      if (wanted.response_header_mode === 2) sendsHeaders = false;
    };

    const hasBody = isBodied(asked.headers);
    const head: Headers = { ...asked.headers };
    const pseudo = {
      ":authority": asked.headers.host ?? "",
      ":method": asked.method ?? "",
      ":path": asked.url ?? "",
      ":scheme": "http",
    };
    write({
      request_headers: { headers: { headers: headerMap(asked.rawHeaders, pseudo) }, end_of_stream: !hasBody },
      protocol_config: { request_body_mode: MODES[modes.request], response_body_mode: MODES[modes.response] },
    });
    const hasStarted = hasBody && modes.request === "duplex";
    if (hasStarted) void sendBody("request", asked, write);
    const first = await inboxes.request.take();
    if (first === undefined) {
      if (!failsOpen || hasStarted) throw new Broken("no more responses");
      await forwarded(send(asked, head), answer, asked);
      return;
    }
    if (first.immediate_response) return direct(first, answer);
    mutate(head, first, "request_headers");
    overridden(first);
    if (hasStarted) delete head["content-length"];
    const upstream = send(asked, head);
    if (!hasBody) upstream.end();
    else if (modes.request === "duplex") void pieces(inboxes.request, "request_body", upstream, answer);
    else await buffered("request", asked, upstream);
    if (answer.writableEnded) return;

    const [answered] = (await once(upstream, "response").catch(() => {
      throw new Broken("the upstream is gone");
    })) as [IncomingMessage];
    const hasAnswer = isBodied(answered.headers);
    const own: Headers = { ...answered.headers };
    const status = { ":status": String(answered.statusCode) };
    if (sendsHeaders) {
      write({
        response_headers: { headers: { headers: headerMap(answered.rawHeaders, status) }, end_of_stream: !hasAnswer },
      });
    }
    if (hasAnswer && modes.response === "duplex") void sendBody("response", answered, write);
    if (sendsHeaders) {
      const result = await inboxes.response.take();
      if (result === undefined) throw new Broken("no more responses");
      if (result.immediate_response) return direct(result, answer);
      mutate(own, result, "response_headers");
    }
    if (modes.response === "buffered" && hasAnswer) {
      await bufferedAnswer(answered, own, status[":status"]);
    } else if (modes.response === "duplex" && hasAnswer) {
      delete own["content-length"];
      answer.writeHead(answered.statusCode ?? 0, own);
      await pieces(inboxes.response, "response_body", answer, undefined);
    } else {
      answer.writeHead(answered.statusCode ?? 0, own);
      answered.pipe(answer);
    }
    call.end();

    /**
     * Sends one message with the whole body once the headers are answered; its answer must have the declared length.
     */
    async function buffered(side: Side, from: IncomingMessage, to: ClientRequest): Promise<void> {
      const whole = await bodyOf(from);
      write({ [`${side}_body`]: { body: whole, end_of_stream: true } });
      const result = await inboxes.request.take();
      if (result === undefined) throw new Broken("no more responses");
      if (result.immediate_response) {
        to.destroy();
        direct(result, answer);
        return;
      }
      to.end(replaced(result.request_body?.response?.body_mutation, whole, head));
    }

    async function bufferedAnswer(from: IncomingMessage, own: Headers, status: string): Promise<void> {
      const whole = await bodyOf(from);
      write({ response_body: { body: whole, end_of_stream: true } });
      const result = await inboxes.response.take();
      if (result === undefined) throw new Broken("no more responses");
      if (result.immediate_response) return direct(result, answer);
      const body = replaced(result.response_body?.response?.body_mutation, whole, own);
      answer.writeHead(Number(status), own).end(body);
    }
  }

  function send({ method, url: path }: IncomingMessage, headers: Headers): ClientRequest {
    const to = request({ host: "127.0.0.1", port: options.upstream, method, path, headers, agent: false });
    return to.on("error", () => undefined);
  }
}

/** The data for `pieces` ends with a final piece, with trailers, with any other answer, or with the stream. */
async function pieces(
  from: Inbox,
  name: "request_body" | "response_body",
  to: ClientRequest | ServerResponse,
  answer: ServerResponse | undefined,
): Promise<void> {
  for (;;) {
    const result = await from.take();
    if (result?.immediate_response && answer !== undefined) {
      to.destroy();
      direct(result, answer);
      return;
    }
    const piece = result?.[name]?.response?.body_mutation?.streamed_response;
    if (!piece) break;
    if (!to.write(piece.body ?? "")) await drained(to);
    if (piece.end_of_stream === true) break;
  }
  to.end();
}

/** The connection may be gone by then. */
function drained(to: ClientRequest | ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      for (const event of ENDS) to.off(event, settle);
      resolve();
    };
    for (const event of ENDS) to.on(event, settle);
  });
}

const ENDS = ["drain", "close"] as const;

/** Forwards frames as they arrive, without knowing the last one; or trailers. */
async function sendBody(side: Side, from: IncomingMessage, write: (message: ProcessingRequest) => void): Promise<void> {
  for await (const chunk of from as AsyncIterable<Buffer>) write({ [`${side}_body`]: { body: chunk } });
  if (from.rawTrailers.length > 0) {
    write({ [`${side}_trailers`]: { trailers: { headers: headerMap(from.rawTrailers, {}) } } });
  } else {
    write({ [`${side}_body`]: { end_of_stream: true } });
  }
}

function mutate(head: Headers, message: Response, name: "request_headers" | "response_headers"): void {
  const mutation = message[name]?.response?.header_mutation;
  for (const removed of mutation?.remove_headers ?? []) delete head[removed.toLowerCase()];
  for (const { header } of mutation?.set_headers ?? []) {
    const { key = "", value = "", raw_value: raw } = header ?? {};
    if (!key.startsWith(":"))
      head[key.toLowerCase()] = raw === undefined || raw.length === 0 ? value : raw.toString("latin1");
  }
}

interface Mutation {
  readonly body?: Buffer;
  readonly clear_body?: boolean;
}

function replaced(mutation: Mutation | null | undefined, whole: Buffer, head: Headers): Buffer {
  const made = mutation?.clear_body === true ? Buffer.alloc(0) : mutation?.body;
  const named = head["content-length"];
  if (made !== undefined && named !== undefined && Number(named) !== made.length)
    throw new Broken("content-length mismatch");
  return made ?? whole;
}

function direct({ immediate_response: found }: Response, answer: ServerResponse): void {
  const head: Headers = {};
  for (const { header } of found?.headers?.set_headers ?? []) head[header?.key ?? ""] = String(header?.raw_value);
  answer.writeHead(found?.status?.code ?? 200, head).end(new TextDecoder().decode(found?.body));
}

async function forwarded(upstream: ClientRequest, answer: ServerResponse, asked: IncomingMessage): Promise<void> {
  asked.pipe(upstream);
  const [answered] = (await once(upstream, "response")) as [IncomingMessage];
  answer.writeHead(answered.statusCode ?? 0, answered.headers);
  answered.pipe(answer);
}

/** Writes ordinary headers in `raw_value`, and behind them the protocol's in `value`. */
function headerMap(raw: readonly string[], pseudo: Readonly<Record<string, string>>) {
  const ordinary: { readonly key: string; readonly value?: string; readonly raw_value?: Buffer }[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const key = (raw[at] ?? "").toLowerCase();
    if (key !== "host") ordinary.push({ key, raw_value: Buffer.from(raw[at + 1] ?? "", "latin1") });
  }
  return [...ordinary, ...Object.entries(pseudo).map(([key, value]) => ({ key, value }))];
}

const isBodied = (headers: IncomingMessage["headers"]): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;

async function bodyOf(from: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of from as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function isUtf8(bytes: Buffer): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Values wait until they are taken. After `undefined` nothing else arrives. */
class Inbox {
  readonly #waiting: (Response | undefined)[] = [];
  #taker: ((message: Response | undefined) => void) | undefined;

  put(message: Response | undefined): void {
    const taker = this.#taker;
    this.#taker = undefined;
    if (taker === undefined) this.#waiting.push(message);
    else taker(message);
  }

  take(): Promise<Response | undefined> {
    if (this.#waiting.length > 0) return Promise.resolve(this.#waiting.shift());
    return new Promise((resolve) => {
      this.#taker = resolve;
    });
  }
}
