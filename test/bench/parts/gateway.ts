/**
 * The gateway under test, started as an operator would: flag mode with one upstream, or config mode with a node file and
 * a deployment of 20 providers and 50 aliases. Its stderr is read for the line that says it is ready.
 */

import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stringify } from "yaml";
import { type Child, freePort, type Piece, startChild, waitForPort } from "./children.ts";

export type GatewayMode = "flag" | "config";

export interface GatewayOptions {
  /** The launcher. */
  readonly file: string;
  readonly mode: GatewayMode;
  readonly upstreamPort: number;
  /** Where configuration and state go. */
  readonly folder: string;
  /** Flags for node itself, such as those of the profiler. */
  readonly nodeFlags?: readonly string[];
}

const PROVIDERS = 20;
const ALIASES = 50;
/** Past this a gateway is broken, not slow: the aim is one second. */
const READY_TIMEOUT_MS = 15_000;

/** A model of the tenth provider, as it is called there and by one of its aliases. */
export const CONFIG_MODEL = "p10-chat";
export const CONFIG_ALIAS = "alias-10";

export interface StartedGateway extends Piece {
  /** From spawn to the first accepted connection, milliseconds. */
  readonly listeningMs: number;
}

export async function startGateway(options: GatewayOptions): Promise<StartedGateway> {
  const port = await freePort();
  const metricsPort = options.mode === "config" ? await freePort() : undefined;
  const args =
    options.mode === "flag"
      ? flagArguments(port, metricsPort, options.upstreamPort)
      : ["-config", await writeConfiguration(options.folder, port, metricsPort, options.upstreamPort)];
  const startedAt = performance.now();
  const child = startChild(process.execPath, [...(options.nodeFlags ?? []), options.file, ...args]);
  await waitForPort(port, child);
  return Object.assign(child, { port, listeningMs: performance.now() - startedAt });
}

/** Waits for the log line whose message is `ready`. */
export async function waitForReadyLine(child: Child): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (!child.output().split("\n").some(isReadyLine)) {
    if (child.hasEnded()) throw new Error(`the gateway ended: ${child.output().trim()}`);
    if (performance.now() > deadline) throw new Error("no line with the message `ready` on stderr");
    await sleep(2);
  }
}

export function isReadyLine(line: string): boolean {
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === "object" && entry !== null && "message" in entry && entry.message === "ready";
  } catch {
    return false;
  }
}

export function flagArguments(port: number, metricsPort: number | undefined, upstreamPort: number): readonly string[] {
  const metrics = metricsPort === undefined ? "none" : `127.0.0.1:${metricsPort}`;
  return [
    ...["-listen", `127.0.0.1:${port}`],
    ...["-metrics-listen", metrics],
    ...["-upstream", `http://127.0.0.1:${upstreamPort}`],
    ...["-dialect", "compat"],
  ];
}

/** Writes node file and deployment document; gives the path of the node file. */
async function writeConfiguration(
  folder: string,
  port: number,
  metricsPort: number | undefined,
  upstreamPort: number,
): Promise<string> {
  const home = await mkdtemp(join(folder, "node-"));
  await mkdir(join(home, "state"), { mode: 0o700 });
  const node = {
    listen: `127.0.0.1:${port}`,
    metrics_listen: metricsPort === undefined ? "none" : `127.0.0.1:${metricsPort}`,
    deployment: "deployment.yaml",
    cluster: {
      node_id: "bench",
      data_dir: join(home, "state"),
      secret: "bench-secret-of-the-cluster",
      bootstrap: true,
    },
  };
  await writeFile(join(home, "node.yaml"), stringify(node));
  await writeFile(join(home, "deployment.yaml"), stringify(buildDeployment(upstreamPort)));
  return join(home, "node.yaml");
}

/** Alias n belongs to provider n modulo 20 (provider 20 for those that divide), so each provider has two or three. */
function buildDeployment(upstreamPort: number): object {
  const providers = Array.from({ length: PROVIDERS }, (_, index) => {
    const number = index + 1;
    const aliases = Array.from({ length: ALIASES }, (_, at) => at + 1).filter(
      (alias) => alias % PROVIDERS === number % PROVIDERS,
    );
    return {
      name: `provider-${number}`,
      dialect: "compat",
      base_url: `http://127.0.0.1:${upstreamPort}/v1`,
      api_key: `bench-key-${number}`,
      models: [`p${number}-*`, ...aliases.map((alias) => `alias-${alias}`)],
      model_aliases: Object.fromEntries(aliases.map((alias) => [`alias-${alias}`, `p${number}-chat`])),
    };
  });
  return { version: 1, default_provider: "provider-1", providers };
}
