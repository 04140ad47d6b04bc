/** The validator's target: the challenge path over plain HTTP, answered by the nodes in turn. */
import { createServer, type Server } from "node:http";
import type { MaybePromise } from "../../../../../src/server/tls/index.ts";

interface ChallengeServer {
  readonly port: number;
  /** Nodes that answer in turn. */
  answerers: readonly ((host: string, token: string) => MaybePromise<string | undefined>)[];
  readonly requestCount: () => number;
  close(): Promise<void>;
}

export async function startChallengeServer(): Promise<ChallengeServer> {
  let requestCount = 0;
  const server: Server = createServer(async (request, response) => {
    const token = /^\/\.well-known\/acme-challenge\/([^/]+)$/.exec(request.url ?? "")?.[1];
    const host = (request.headers.host ?? "").replace(/:\d+$/, "");
    const answer =
      token && (await challengeServer.answerers[requestCount++ % challengeServer.answerers.length]?.(host, token));
    response.statusCode = answer ? 200 : 404;
    response.end(answer || "");
  });
  server.listen(0, "127.0.0.1");
  await new Promise((ready) => server.once("listening", ready));
  const { port } = server.address() as { port: number };
  const challengeServer: ChallengeServer = {
    port,
    answerers: [],
    requestCount: () => requestCount,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  return challengeServer;
}
