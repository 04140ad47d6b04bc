/** Duration of a start: `gateway version` compared with an empty node, and a gateway from spawn to its first answer. */

import { spawnSync } from "node:child_process";
import { request } from "node:http";
import type { Piece } from "./parts/children.ts";
import type { GatewayMode } from "./parts/configuration.ts";
import { startGateway, waitForReadyLine } from "./parts/gateway.ts";
import { type Judged, judge } from "./report.ts";
import { MAX_READY_MS, MAX_VERSION_RATIO } from "./scenarios.ts";
import { summarize } from "./statistics.ts";

interface StartupOptions {
  readonly gateway: string;
  readonly upstreamPort: number;
  readonly folder: string;
  readonly runs: number;
}

export function measureVersion(options: StartupOptions): Judged {
  const empty: number[] = [];
  const version: number[] = [];
  for (let run = 0; run < options.runs; run += 1) {
    empty.push(timeRun(["-e", "0"]));
    version.push(timeRun([options.gateway, "version"]));
  }
  const ratio = summarize(version.map((ms, run) => ms / (empty[run] ?? Number.NaN)));
  return {
    name: "version: `gateway version` over `node -e 0`",
    value: ratio.median.toFixed(2),
    target: MAX_VERSION_RATIO.toFixed(2),
    verdict: judge(ratio.median, MAX_VERSION_RATIO),
    detail: `${summarize(version).median.toFixed(0)} ms over ${summarize(empty).median.toFixed(0)} ms`,
  };
}

/** Time until a request through the gateway is answered and the log says ready, whichever is later. */
export async function measureReady(mode: GatewayMode, options: StartupOptions): Promise<Judged> {
  const readyMs: number[] = [];
  const listeningMs: number[] = [];
  for (let run = 0; run < options.runs; run += 1) {
    const startedAt = performance.now();
    const gateway = await startGateway({ ...options, file: options.gateway, mode });
    await Promise.all([answerOnce(gateway), waitForReadyLine(gateway)]);
    readyMs.push(performance.now() - startedAt);
    listeningMs.push(gateway.listeningMs);
    await gateway.stop();
  }
  const ready = summarize(readyMs);
  return {
    name: `ready: from start to the first answer, ${mode} mode`,
    value: `${ready.median.toFixed(0)} ms`,
    target: `${MAX_READY_MS} ms`,
    verdict: judge(ready.median, MAX_READY_MS),
    detail: `${ready.least.toFixed(0)}-${ready.most.toFixed(0)} ms; listening after ${summarize(listeningMs).median.toFixed(0)} ms`,
  };
}

function timeRun(args: readonly string[]): number {
  const startedAt = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`node ${args.join(" ")} ended with ${status}: ${stderr.trim()}`);
  return performance.now() - startedAt;
}

function answerOnce(server: Piece): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", authorization: "Bearer bench-client-credential" };
    const post = request({
      port: server.port,
      host: "127.0.0.1",
      method: "POST",
      path: "/v1/chat/completions",
      headers,
    });
    post.on("response", (response) => {
      response.resume();
      if (response.statusCode === 200) resolve();
      else reject(new Error(`the first answer was ${response.statusCode}`));
    });
    post.on("error", reject);
    post.end(JSON.stringify({ model: "p10-chat", messages: [{ role: "user", content: "hello" }] }));
  });
}
