/** A server of an analyzer's `/analyze` over real sockets, scripted by a test. */
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface AnalyzeRequest {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Analyzer {
  readonly url: string;
  readonly received: readonly AnalyzeRequest[];
  /** Number of connections opened. */
  readonly connections: () => number;
  readonly inFlight: { readonly now: number; most: number };
  /** Answer to the next calls; a value is sent as JSON. */
  answer: (request: AnalyzeRequest, response: ServerResponse) => unknown;
}

export async function startAnalyzer(owner: { after(end: () => void): void }, port = 0): Promise<Analyzer> {
  const received: AnalyzeRequest[] = [];
  const inFlight = { now: 0, most: 0 };
  let connections = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    inFlight.now++;
    inFlight.most = Math.max(inFlight.most, inFlight.now);
    response.once("close", () => {
      inFlight.now--;
    });
    const text = Buffer.concat(chunks).toString("utf8");
    const one: AnalyzeRequest = {
      path: request.url ?? "",
      headers: request.headers,
      body: text === "" ? {} : (JSON.parse(text) as AnalyzeRequest["body"]),
    };
    received.push(one);
    const value = await analyzer.answer(one, response);
    if (response.headersSent || response.destroyed || value === undefined) return;
    response.setHeader("content-type", "application/json");
    response.end(typeof value === "string" || Buffer.isBuffer(value) ? value : JSON.stringify(value));
  });
  server.on("connection", () => {
    connections++;
  });
  await new Promise<void>((resolve) => {
    server.listen(port, "127.0.0.1", resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  const analyzer: Analyzer = {
    url: `http://127.0.0.1:${bound}`,
    received,
    connections: () => connections,
    inFlight,
    answer: () => [],
  };
  owner.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return analyzer;
}

/** Answers like a current Presidio, with offsets in code points: each word with its type. */
export function personsIn(words: Readonly<Record<string, string>>): Analyzer["answer"] {
  return ({ body: { text } }) => {
    assert.ok(typeof text === "string");
    return Object.entries(words).flatMap(([word, type]) => {
      const at = text.indexOf(word);
      if (at < 0) return [];
      const start = [...text.slice(0, at)].length;
      return [{ analysis_explanation: null, end: start + [...word].length, entity_type: type, score: 0.85, start }];
    });
  };
}
