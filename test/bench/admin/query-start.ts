/**
 * Waiting time at a prompt: from process start to the first byte on stdout, compared with an empty node. The programs
 * alternate, so that a busy moment affects all of them.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { summarize } from "../statistics.ts";
import type { AdminBenchInputs, AdminScenario, Figure } from "./admin-scenario.ts";
import { createKeys, startPlane } from "./plane.ts";

export const QUERY_START: AdminScenario = { name: "query-start", run: queryStart };

const RUNS = 20;
const QUICK_RUNS = 5;
const KEYS = 10;
const MAX_RATIO = 2.5;
const SQL = "select name from keys";

interface Program {
  readonly name: string;
  readonly args: readonly string[];
  readonly maxRatio: number | undefined;
}

async function queryStart(input: AdminBenchInputs): Promise<readonly Figure[]> {
  const plane = await startPlane(input);
  const env = { ...process.env, XDG_STATE_HOME: input.pieces.folder };
  const socket = ["-socket", plane.socketPath];
  const url = ["-url", `http://127.0.0.1:${plane.adminPort}`];
  const programs: readonly Program[] = [
    { name: "query, local socket", args: ["query", ...socket, SQL], maxRatio: MAX_RATIO },
    { name: "query, http on the loopback", args: ["query", ...url, SQL], maxRatio: MAX_RATIO },
    { name: "admin status, local socket", args: ["admin", ...socket, "status"], maxRatio: undefined },
    { name: "version", args: ["version"], maxRatio: undefined },
  ];
  try {
    await createKeys(input, plane, 0, KEYS);
    const empty: number[] = [];
    const times = programs.map((): number[] => []);
    // The first of each is not counted: files are not cached yet, and the query worker starts.
    for (let run = -1; run < (input.isQuick ? QUICK_RUNS : RUNS); run += 1) {
      const alone = await timeToExit(["-e", "0"], env);
      if (run >= 0) empty.push(alone);
      for (const [at, { args }] of programs.entries()) {
        const ms = await timeToFirstByte([input.launcher, ...args], env);
        if (run >= 0) times[at]?.push(ms);
      }
    }
    const base = summarize(empty);
    return programs.map(({ name, maxRatio }, at) => {
      const { median, least, most } = summarize(times[at] ?? []);
      return {
        name: `gateway ${name}: first byte over \`node -e 0\``,
        value: median / base.median,
        unit: "times",
        aim: maxRatio === undefined ? undefined : { atMost: maxRatio },
        detail: `${median.toFixed(0)} ms (${least.toFixed(0)}-${most.toFixed(0)}) over ${base.median.toFixed(0)} ms (${base.least.toFixed(0)}-${base.most.toFixed(0)})`,
      };
    });
  } finally {
    await plane.stop();
  }
}

async function timeToExit(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const startedAt = performance.now();
  await once(spawn(process.execPath, args, { env, stdio: "ignore" }), "exit");
  return performance.now() - startedAt;
}

async function timeToFirstByte(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  let ms = Number.NaN;
  let errors = "";
  child.stdout.on("data", () => {
    if (Number.isNaN(ms)) ms = performance.now() - startedAt;
  });
  child.stderr.on("data", (piece) => {
    errors += String(piece);
  });
  const [status] = await once(child, "close");
  if (status !== 0 || Number.isNaN(ms)) throw new Error(`${args.slice(1).join(" ")} ended with ${status}: ${errors}`);
  return ms;
}
