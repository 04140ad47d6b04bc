/** An upstream, over HTTP/1.1 and HTTP/2, that sends the answer named in a request's `x-answer`. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttp2Server, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import type { AddressInfo } from "node:net";

export interface Answer {
  readonly status?: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Each is written separately. A single one has a length. */
  readonly chunks: readonly Buffer[];
  readonly trailers?: Readonly<Record<string, string>>;
  /** Breaks off at this point. */
  readonly breaksOff?: boolean;
}

export interface Answering {
  readonly port: number;
  readonly port2: number;
  readonly answers: Map<string, Answer>;
  /** Received bodies. */
  readonly bodies: Buffer[];
  /** Answers whose connection or stream closed before they were complete. */
  readonly aborted: string[];
  readonly close: () => Promise<void>;
}

export async function openAnswering(): Promise<Answering> {
  const answers = new Map<string, Answer>();
  const bodies: Buffer[] = [];
  const aborted: string[] = [];

  const serve = async (
    asked: IncomingMessage | Http2ServerRequest,
    answer: ServerResponse | Http2ServerResponse,
  ): Promise<void> => {
    const taken: Buffer[] = [];
    for await (const chunk of asked as AsyncIterable<Buffer>) taken.push(chunk);
    bodies.push(Buffer.concat(taken));
    const name = String(asked.headers["x-answer"]);
    const known = answers.get(name);
    answer.on("close", () => {
      if (!answer.writableEnded) aborted.push(name);
    });
    if (known === undefined) {
      answer.writeHead(500).end("no such answer");
      return;
    }
    const { status = 200, headers, chunks, trailers, breaksOff = false } = known;
    const [only] = chunks;
    const isSized = chunks.length === 1 && trailers === undefined && !breaksOff;
    const announced = trailers === undefined || "stream" in answer ? {} : { trailer: Object.keys(trailers).join(", ") };
    answer.writeHead(status, {
      ...headers,
      ...announced,
      ...(isSized && { "content-length": String(only?.length) }),
    });
    const gone = once(answer, "close");
    for (const chunk of chunks) {
      if (answer.destroyed) return;
      if (!(answer as ServerResponse).write(chunk)) await Promise.race([once(answer, "drain"), gone]);
      else await new Promise((resolve) => setImmediate(resolve));
    }
    if (breaksOff) {
      if ("stream" in answer) answer.stream.close(8);
      else answer.destroy();
      return;
    }
    if (trailers !== undefined) (answer as ServerResponse).addTrailers(trailers);
    answer.end();
  };
  const served = (asked: IncomingMessage | Http2ServerRequest, answer: ServerResponse | Http2ServerResponse): void => {
    serve(asked, answer).catch(() => answer.destroy());
  };
  const server = createServer(served).listen(0, "127.0.0.1");
  const server2 = createHttp2Server(served).listen(0, "127.0.0.1");
  const sessions = new Set<{ destroy: () => void }>();
  server2.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
  });
  await Promise.all([server, server2].map((one) => (one.listening ? undefined : once(one, "listening"))));
  return {
    port: (server.address() as AddressInfo).port,
    port2: (server2.address() as AddressInfo).port,
    answers,
    bodies,
    aborted,
    async close() {
      server.closeAllConnections();
      for (const session of sessions) session.destroy();
      await Promise.all([server, server2].map((one) => new Promise((resolve) => one.close(resolve))));
    },
  };
}
