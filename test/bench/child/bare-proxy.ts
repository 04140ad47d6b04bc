/**
 * The yardstick: a minimal proxy on Node. node:http in front, undici `dispatch` behind, the body buffered and
 * forwarded, the answer piped back; no parsing, no routing, no metrics, no limits. Every ratio of the bench is relative
 * to it.
 *
 * Usage: bare-proxy UPSTREAM_PORT [CHAIN_FILE KEY_FILE]; with the two it uses TLS by node:https.
 */

import { readFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { Agent, type Dispatcher } from "undici";
import { listenAndReport } from "./channel.ts";

/** Hop-by-hop fields (RFC 9110 section 7.6.1), and the two that undici's client writes itself. */
const NOT_FORWARDED = new Set(["connection", "keep-alive", "transfer-encoding", "host", "content-length"]);

const [, , upstreamPort, chainFile, keyFile] = process.argv;
const origin = `http://127.0.0.1:${upstreamPort}`;
const agent = new Agent();

listenAndReport(
  chainFile === undefined || keyFile === undefined
    ? createServer(serve)
    : createSecureServer({ cert: readFileSync(chainFile), key: readFileSync(keyFile) }, serve),
);

function serve(request: IncomingMessage, response: ServerResponse): void {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  request.on("end", () => forward(request, response, pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)));
}

function forward(request: IncomingMessage, response: ServerResponse, body: Buffer | undefined): void {
  const sent: IncomingHttpHeaders = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (!NOT_FORWARDED.has(name)) sent[name] = value;
  }
  let controller: Dispatcher.DispatchController | undefined;
  response.on("close", () => {
    if (!response.writableFinished) controller?.abort(new Error("the client left"));
  });
  response.on("drain", () => controller?.resume());
  agent.dispatch(
    { origin, path: request.url ?? "/", method: "POST", headers: sent, body: body ?? null },
    {
      onRequestStart(started) {
        controller = started;
      },
      onResponseStart(_controller, status, headers) {
        for (const name of ["connection", "keep-alive", "transfer-encoding"]) delete headers[name];
        response.writeHead(status, headers);
      },
      onResponseData(started, piece) {
        if (!response.write(piece)) started.pause();
      },
      onResponseEnd() {
        response.end();
      },
      onResponseError() {
        response.destroy();
      },
    },
  );
}
