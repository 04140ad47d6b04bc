/** Routes for tests: counts, the last requests, and settings of the reports. */

import { type Agents, createAgents } from "./agents/serve.ts";
import { readTally, resetTally, type Tally } from "./counts.ts";
import { Refused } from "./errors.ts";
import { type Exchange, writeWhole } from "./exchange.ts";
import type { HeldObjects } from "./held/types.ts";
import { helpText } from "./help.ts";
import { parseJson } from "./json.ts";
import type { RecentRequests } from "./last.ts";
import { changeTools } from "./mcp/state.ts";
import type { Memory } from "./memory.ts";
import type { UsageLedger } from "./reports/book.ts";
import { batchesOf, createKnobs, type Knobs, knobsBody, setKnobs } from "./reports/knobs.ts";

export interface Controlled {
  readonly tally: Tally;
  readonly memory: Memory;
  readonly held: HeldObjects;
  readonly recentRequests: RecentRequests;
  readonly ledger: UsageLedger;
  readonly url: string;
  agents: Agents;
  knobs: Knobs;
}

export const isControl = (path: string): boolean => path === "/" || path.startsWith("/sim/");

type Route = (controlled: Controlled, url: string, bytes: Buffer) => string;

const ROUTES: ReadonlyMap<string, Route> = new Map<string, Route>([
  ["GET /", (controlled) => helpText(controlled.url)],
  ["GET /sim/counts", ({ tally }) => JSON.stringify(readTally(tally))],
  [
    "GET /sim/last",
    ({ recentRequests }, url) => {
      const asked = /[?&]n=(\d{1,3})(?:&|$)/.exec(url)?.[1];
      return recentRequests.read(asked === undefined ? undefined : Number(asked));
    },
  ],
  ["GET /sim/reports", ({ ledger }) => JSON.stringify({ lines: ledger.lines() })],
  [
    "POST /sim/reports",
    (controlled, _, bytes) => {
      turnKnobs(controlled, bytes);
      return "{}";
    },
  ],
  [
    "POST /sim/reset",
    (controlled) => {
      resetTally(controlled.tally);
      controlled.memory.forget();
      controlled.held.forget();
      controlled.recentRequests.forget();
      controlled.ledger.forget();
      controlled.agents = createAgents();
      controlled.knobs = createKnobs(controlled.knobs.adminKey);
      return "{}";
    },
  ],
  [
    "POST /sim/change",
    ({ agents }) => {
      changeTools(agents.mcp);
      return "{}";
    },
  ],
]);

/** Answers a control request. Throws `Refused`. */
export function answerControl(controlled: Controlled, exchange: Exchange, path: string, bytes: Buffer): void {
  const { method, url = "" } = exchange.request;
  const route = ROUTES.get(`${method} ${path}`);
  if (route === undefined) throw new Refused(404, `There are ${[...ROUTES.keys()].join(", ")}.`);
  const contentType = path === "/" ? "text/plain; charset=utf-8" : "application/json";
  writeWhole(exchange, { status: 200, contentType }, route(controlled, url, bytes));
}

function turnKnobs({ ledger, knobs }: Controlled, bytes: Buffer): void {
  const asked = knobsBody(jsonIn(bytes));
  const batches = batchesOf(asked);
  setKnobs(knobs, asked, Date.now());
  for (const { dialect, at, counter, tokens } of batches) {
    const counters = { input: 0, cached: 0, written: 0, output: 0, [counter]: tokens };
    ledger.add({ at, dialect, kind: "completions", model: "sim-batch", keyId: "key_batch", isBatch: true, counters });
  }
}

function jsonIn(bytes: Buffer): ReturnType<typeof parseJson> {
  try {
    return parseJson(bytes.toString());
  } catch {
    throw new Refused(400, "The body is not JSON.");
  }
}
