/**
 * The gateway under test, started as an operator would: flag mode with one upstream, or config mode with a node file and
 * a deployment. Its stderr is read for the line that says it is ready.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../e2e/support/ports.ts";
import type { Alive, ProbeQuestion } from "../child/probe.ts";
import { type Child, type Piece, startAsked, startChild, waitForPort } from "./children.ts";
import { type CertificateFiles, type GatewayMode, makeHome, writeConfiguration } from "./configuration.ts";

export interface GatewayOptions {
  /** The launcher. */
  readonly file: string;
  readonly mode: GatewayMode;
  readonly upstreamPort: number;
  /** Where configuration and state go. */
  readonly folder: string;
  /** A folder in which a gateway of the same mode ran before, with its state; left out, a new one in `folder`. */
  readonly home?: string;
  /** Of a gateway with a node file: it speaks TLS. */
  readonly tls?: CertificateFiles;
  /** Beside the bench's own environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Flags for node itself, such as those of the profiler. */
  readonly nodeFlags?: readonly string[];
}

/** Past this a gateway is broken, not slow: the aim is one second. */
const READY_TIMEOUT_MS = 60_000;

export interface StartedGateway extends Piece {
  /** From spawn to the first accepted connection, milliseconds. */
  readonly listeningMs: number;
}

export async function startGateway(options: GatewayOptions): Promise<StartedGateway> {
  const { port, args } = await configured(options);
  const startedAt = performance.now();
  // What one process costs is compared, unless the scenario is about several.
  const env = { ...process.env, GATEWAY_WORKERS: "1", ...options.env };
  const child = startChild(process.execPath, [...(options.nodeFlags ?? []), options.file, ...args], { env });
  await waitForPort(port, child);
  return Object.assign(child, { port, listeningMs: performance.now() - startedAt });
}

/** Under the probe, a compiled piece, which tells what is alive after a full collection. */
export async function startProbed(
  options: GatewayOptions,
  probe: string,
): Promise<Piece & { alive(): Promise<Alive> }> {
  const { port, args } = await configured(options);
  const nodeFlags = [...(options.nodeFlags ?? []), "--expose-gc", "--require", probe];
  const child = startAsked<ProbeQuestion, Alive>(options.file, args, nodeFlags);
  await waitForPort(port, child);
  return Object.assign(child, { port, alive: () => child.ask({}) });
}

async function configured(
  options: GatewayOptions,
): Promise<{ readonly port: number; readonly args: readonly string[] }> {
  const { mode, upstreamPort, folder } = options;
  const port = await freePort();
  if (mode === "flag") return { port, args: flagArguments(port, undefined, upstreamPort) };
  const home = options.home ?? (await makeHome(folder));
  const metricsPort = await freePort();
  const configuring = { mode, home, port, metricsPort, upstreamPort, ...(options.tls && { tls: options.tls }) };
  return { port, args: ["-config", await writeConfiguration(configuring)] };
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
