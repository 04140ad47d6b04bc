/**
 * Setup of a cell of the inspector's bench: one upstream, and three Envoys in front of it. One calls nothing, one a
 * service without inspection logic, one an inspecting gateway. All are separate processes, as is the generator.
 */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { freePort } from "../../e2e/support/ports.ts";
import { type Envoy, startEnvoy } from "../../server/inspector/envoy.ts";
import type { LoadJob, LoadResult } from "../child/load.ts";
import { type Child, startAsked, startChild, startPiece } from "../parts/children.ts";
import { compilePieces } from "../parts/compile.ts";
import { makeHome } from "../parts/configuration.ts";
import { waitForReadyLine } from "../parts/gateway.ts";
import { cpuMicros } from "../parts/process-usage.ts";
import type { RunLoad } from "../rounds.ts";

const LAUNCHER = fileURLToPath(new URL("../../../bin/gateway", import.meta.url));
const PROTO = fileURLToPath(new URL("../../../proto/external_processor.proto", import.meta.url));

const DETECTOR = "cards";

/** Without a cache, so that the same text is read each time. */
const DEPLOYMENT = {
  guardrails: {
    cache_entries: 0,
    detectors: [{ name: DETECTOR, type: "pii", prefilter: "pure", entities: ["CREDIT_CARD"] }],
    rules: [{ name: "mask", action: "redact" }],
  },
};

/** Default configuration of Envoy 1.37 and later. */
const MODES = { request: "streamed", response: "off" } as const;

export type Through = "nothing" | "empty" | "inspector";

export interface InspectorStage {
  readonly ask: RunLoad;
  readonly ports: Readonly<Record<Through, number>>;
  /** CPU time of the called service, in microseconds since its start. */
  readonly cpuOf: (through: Exclude<Through, "nothing">) => number;
  /** Messages sent by this Envoy's filter. */
  readonly messagesOf: (through: Exclude<Through, "nothing">) => Promise<number>;
  /** Count and sum of an inspector's histogram, the sum in microseconds. */
  readonly seconds: (series: string) => Promise<Seconds>;
  readonly end: () => Promise<void>;
}

export interface Seconds {
  readonly count: number;
  readonly sumUs: number;
}

/** `envoy` is its executable. `profileFolder` is for the inspector's CPU profiles; `undefined` for none. */
export async function openInspectorStage(envoy: string, profileFolder: string | undefined): Promise<InspectorStage> {
  const pieces = await compilePieces();
  const upstream = await startPiece(pieces.upstream, []);
  const generator = startAsked<LoadJob, LoadResult>(pieces.load);
  const empty = await startPiece(pieces.emptyProcessor, [PROTO]);
  const inspector = await startInspecting(await makeHome(pieces.folder), profileFolder);
  const open = (port: number | undefined): Promise<Envoy> =>
    startEnvoy(envoy, MODES, { inspector: port, upstream: upstream.port });
  const proxies = {
    nothing: await open(undefined),
    empty: await open(empty.port),
    inspector: await open(inspector.port),
  };
  const pids = { empty: empty.pid, inspector: inspector.pid };
  return {
    ask: (job) => generator.ask(job),
    ports: { nothing: proxies.nothing.port, empty: proxies.empty.port, inspector: proxies.inspector.port },
    cpuOf: (through) => cpuMicros(pids[through]),
    messagesOf: async (through) => (await proxies[through].counters()).get("stream_msgs_sent") ?? Number.NaN,
    seconds: inspector.seconds,
    async end() {
      await Promise.all(Object.values(proxies).map((proxy) => proxy.stop()));
      await Promise.all([generator, empty, inspector, upstream].map((child) => child.stop()));
    },
  };
}

interface Inspecting extends Child {
  readonly port: number;
  readonly seconds: InspectorStage["seconds"];
}

async function startInspecting(home: string, profileFolder: string | undefined): Promise<Inspecting> {
  const [port, metricsPort] = [await freePort(), await freePort()];
  const node = {
    cluster: { node_id: "bench", bootstrap: true },
    deployment: "deployment.yaml",
    metrics_listen: `127.0.0.1:${metricsPort}`,
    extproc: { inspect_listen: `127.0.0.1:${port}` },
  };
  await writeFile(join(home, "node.yaml"), stringify(node));
  await writeFile(join(home, "deployment.yaml"), stringify(DEPLOYMENT));
  if (profileFolder !== undefined) await mkdir(profileFolder, { recursive: true });
  const flags = profileFolder === undefined ? [] : ["--cpu-prof", "--cpu-prof-dir", profileFolder];
  const child = startChild(process.execPath, [...flags, LAUNCHER, "-config", join(home, "node.yaml")]);
  await waitForReadyLine(child);
  return Object.assign(child, {
    port,
    async seconds(series: string): Promise<Seconds> {
      const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      const sumOf = (part: string): number => {
        const rows = text.matchAll(new RegExp(`^${series}_${part}(?:\\{[^}]*\\})? (\\S+)$`, "gm"));
        return [...rows].reduce((sum, [, value]) => sum + Number(value), 0);
      };
      return { count: sumOf("count"), sumUs: sumOf("sum") * 1e6 };
    },
  });
}
