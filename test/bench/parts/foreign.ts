/**
 * Gateways of others as yardsticks: pinned, installed by their own package manager into the folder of the bench, and run
 * there as their authors start them. They are measured and nothing else: no file of theirs is kept, and none is in this
 * repository.
 */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { RequestShape } from "../child/requests.ts";
import type { Piece } from "./children.ts";

export type ForeignName = "portkey" | "litellm";

export interface ForeignGateway {
  /** Of the scenario's load: it takes so many times as long that a round with all the requests would be one of minutes. */
  readonly share: number;
  /** Into a folder below this one, from whichever registry the package manager is configured with. Rejects with why it cannot be had. */
  install(folder: string): Promise<InstalledGateway>;
}

export interface InstalledGateway {
  /** `loopback`: the compiled piece that keeps a program of Node off the network. It gets nothing of our environment but the path. */
  start(given: { readonly upstreamPort: number; readonly loopback: string; readonly model: string }): Promise<Piece>;
  /** What is sent to it where the gateway is sent this. */
  asked(shape: RequestShape, upstreamPort: number): RequestShape;
}

const INSTALL_TIMEOUT_MS = 300_000;

/** Runs a package manager. Rejects with the line in which it says why it failed. */
export async function install(command: string, args: readonly string[], cwd: string): Promise<void> {
  try {
    await promisify(execFile)(command, args, { cwd, timeout: INSTALL_TIMEOUT_MS, maxBuffer: 1 << 24 });
  } catch (error) {
    throw new Error(reasonIn(error instanceof Error ? error.message : String(error)));
  }
}

/** The first line that is marked as an error, or the first of all. */
function reasonIn(text: string): string {
  const lines = text.split("\n");
  return lines.find((line) => /^(npm error|ERROR:)/.test(line)) ?? lines[0] ?? "";
}
