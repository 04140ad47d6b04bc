/**
 * The measured gateway, started like by an operator: flag mode with one upstream, or config mode with a node file and a
 * deployment. Its stderr is read for the ready line.
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
  /** Folder for configuration and state. */
  readonly folder: string;
  /** Folder in which a gateway of the same mode ran before, with its state; a new one in `folder` by default. */
  readonly home?: string;
  /** Enables TLS, with a node file. */
  readonly tls?: CertificateFiles;
  /** Variables beside the bench's own environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Node flags, such as those of the profiler. */
  readonly nodeFlags?: readonly string[];
}

/** A slower gateway is broken: the target is one second. */
const READY_TIMEOUT_MS = 60_000;

export interface StartedGateway extends Piece {
  /** Milliseconds from spawn to the first accepted connection. */
  readonly listeningMs: number;
}

export async function startGateway(options: GatewayOptions): Promise<StartedGateway> {
  const { port, args } = await configured(options);
  const startedAt = performance.now();
  // The cost of one process is compared, unless the scenario is about several.
  const env = { ...process.env, GATEWAY_WORKERS: "1", ...options.env };
  const child = startChild(process.execPath, [...(options.nodeFlags ?? []), options.file, ...args], { env });
  await waitForPort(port, child);
  return Object.assign(child, { port, listeningMs: performance.now() - startedAt });
}

/** Starts it under the probe, a compiled piece that reports what is alive after a full collection. */
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

/** Waits for the log line with the message `ready`. */
export async function waitForReadyLine(child: Child, timeoutMs = READY_TIMEOUT_MS): Promise<void> {
  const deadline = performance.now() + timeoutMs;
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
