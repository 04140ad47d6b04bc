/**
 * Other gateways as yardsticks: pinned, installed by their own package manager into the bench's folder, and run there
 * as their authors start them. They are only measured: no file of theirs is kept, and none is in this repository.
 */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { RequestShape } from "../child/requests.ts";
import type { Piece } from "./children.ts";

export type ForeignName = "portkey" | "litellm";

export interface ForeignGateway {
  /** Share of the scenario's load: it is so much slower that a round with all requests would take minutes. */
  readonly share: number;
  /**
   * Installs into a folder below this one, from the package manager's configured registry. Rejects with the reason if
   * it is not available.
   */
  install(folder: string): Promise<InstalledGateway>;
}

export interface InstalledGateway {
  /**
   * `loopback` is the compiled piece that keeps a Node program off the network. Of our environment only the path is
   * passed.
   */
  start(input: { readonly upstreamPort: number; readonly loopback: string; readonly model: string }): Promise<Piece>;
  /** Returns the request for it that corresponds to the gateway's. */
  asked(shape: RequestShape, upstreamPort: number): RequestShape;
}

const INSTALL_TIMEOUT_MS = 300_000;

/** Runs a package manager. Rejects with its error line. */
export async function install(command: string, args: readonly string[], cwd: string): Promise<void> {
  try {
    await promisify(execFile)(command, args, { cwd, timeout: INSTALL_TIMEOUT_MS, maxBuffer: 1 << 24 });
  } catch (error) {
    throw new Error(reasonIn(error instanceof Error ? error.message : String(error)));
  }
}

/** Returns the first line marked as an error, or the first of all. */
function reasonIn(text: string): string {
  const lines = text.split("\n");
  return lines.find((line) => /^(npm error|ERROR:)/.test(line)) ?? lines[0] ?? "";
}
