/**
 * Stands for a data plane under full load: a server whose every answer costs the main thread some 0.2 ms, like the
 * gateway's, and thread-pool jobs of about 30 ms each, like name lookups and compression.
 */

import { pbkdf2 } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";

/** Rounds of SHA-512; some 30 ms of one core. */
const ROUNDS = 20_000;
const BODY = JSON.stringify({ choices: [{ message: { role: "assistant", content: "word ".repeat(2_000) } }] });

/** Returns a function that starts this many jobs and returns the server's port, or stops everything for none. */
export function keepBusy(): (poolJobs: number) => Promise<number> {
  let server: Server | undefined;
  let jobs = 0;

  const job = (number: number): void => {
    if (number >= jobs) return;
    pbkdf2("bench", "salt", ROUNDS, 64, "sha512", () => job(number));
  };

  return async (poolJobs) => {
    jobs = poolJobs;
    for (let number = 0; number < jobs; number += 1) job(number);
    if (poolJobs === 0) {
      server?.closeAllConnections();
      server?.close();
      server = undefined;
      return 0;
    }
    server = createServer((request, response) => {
      request.resume();
      request.on("end", () => {
        const body = JSON.stringify(JSON.parse(BODY));
        response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
        response.end(body);
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  };
}
