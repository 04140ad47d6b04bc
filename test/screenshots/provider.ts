/**
 * Providers for the pictures: the simulator behind a proxy that fails a share of the requests, like a provider with
 * problems, and that bills more tokens than the short generated texts have.
 */

import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { Simulator } from "../../src/simulator/index.ts";
import { listenLocally } from "../e2e/support/ports.ts";
import { atEnd, type Owner } from "../e2e/support/wait.ts";

export interface Provider {
  /** In the form `http://127.0.0.1:port`. */
  readonly url: string;
  /** Share of the requests that get 503 from now on. */
  failing: number;
}

/** Token count in a prompt that the answer is billed as: `[billed 120000]`. */
const BILLED = /\[billed (\d+)\]/;
const OUTPUT_SHARE = 0.25;

const OVERLOADED = JSON.stringify({ error: { type: "server_error", message: "The engine is overloaded, try again." } });

export async function startProvider(owner: Owner, simulator: Simulator): Promise<Provider> {
  let served = 0;
  const server = createServer((incoming, response) => {
    served += 1;
    // Failures are spaced evenly, so that any short period has the same share.
    const isFailing = Math.floor(served * provider.failing) > Math.floor((served - 1) * provider.failing);
    if (isFailing) {
      incoming.resume();
      response.writeHead(503, { "content-type": "application/json" }).end(OVERLOADED);
      return;
    }
    pass(incoming, response, simulator).catch(() => response.destroy());
  });
  const provider: Provider = { url: `http://127.0.0.1:${await listenLocally(server)}`, failing: 0 };
  atEnd(owner, () => {
    server.closeAllConnections();
    server.close();
  });
  return provider;
}

async function pass(incoming: IncomingMessage, response: ServerResponse, simulator: Simulator): Promise<void> {
  const body = await text(incoming);
  const billed = BILLED.exec(body)?.[1];
  const { method, url, headers } = incoming;
  const onward = request(`${simulator.url}${url}`, {
    method,
    headers: { ...headers, host: `127.0.0.1:${simulator.port}` },
  });
  onward.on("error", () => response.destroy());
  onward.on("response", (answer) => {
    const { statusCode = 502, headers: found } = answer;
    if (billed === undefined) {
      response.writeHead(statusCode, found);
      answer.pipe(response);
      return;
    }
    text(answer).then(
      (whole) => {
        const { "content-length": _, ...others } = found;
        response.writeHead(statusCode, others).end(billedAs(whole, Number(billed)));
      },
      () => response.destroy(),
    );
  });
  onward.end(body);
}

/** Replaces the usage in an answer of either dialect. */
function billedAs(answer: string, tokens: number): string {
  const output = Math.round(tokens * OUTPUT_SHARE);
  const counts: Readonly<Record<string, number>> = {
    prompt_tokens: tokens - output,
    input_tokens: tokens - output,
    completion_tokens: output,
    output_tokens: output,
    total_tokens: tokens,
  };
  return answer.replace(/"(\w+_tokens)":\s*\d+/g, (found, name: string) =>
    counts[name] === undefined ? found : `"${name}":${counts[name]}`,
  );
}
