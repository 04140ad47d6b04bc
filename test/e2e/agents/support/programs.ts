/** Programs that speak an agent protocol with its official SDK: servers that run beside a test, and clients to their end. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { atEnd, type Owner, within } from "../../support/wait.ts";

const FOLDER = join(dirname(fileURLToPath(import.meta.url)), "../programs");
/** Imports of an SDK take seconds on a busy machine. */
const LIMIT_MS = 60_000;
/** Of what a client says about its failure. */
const MAX_OUTPUT = 4_096;

type Program =
  `${"mcp-server" | "mcp-client" | "mcp-guarded" | "a2a-agent" | "a2a-client" | "a2a-guarded"}.${"mjs" | "py"}`;

/**
 * Runs until the owner's end. Its address, which is the first line that it writes. `peer`: of the packages that it loads, or
 * the Python that has them.
 */
export async function startProgram(owner: Owner, program: Program, peer: string): Promise<string> {
  const child = run(...commandOf(program, peer, []), "ignore");
  atEnd(owner, () => child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const [url] = (await within(`the address of ${program}`, once(lines, "line"), LIMIT_MS)) as [string];
  return url;
}

/** What a client saw, by feature, in order. Rejects with what it wrote when it fails. */
export async function tellAll(
  program: Program,
  peer: string,
  url: string,
  authorization = "",
): Promise<ReadonlyMap<string, unknown>> {
  const out = await outputOf(...commandOf(program, peer, [url, authorization]));
  return new Map(
    out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as [string, unknown]),
  );
}

interface RunOptions {
  readonly cwd?: string | undefined;
  readonly limitMs?: number;
  /** Whether it fails is told elsewhere. */
  readonly isAnyEnd?: true;
}

/** What a program writes, whatever its status. Rejects when it writes nothing but errors. */
export async function outputOf(node: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { cwd, limitMs = LIMIT_MS, isAnyEnd = false } = options;
  const child = run(node, args, "pipe", cwd);
  try {
    const both = Promise.all([
      text(child.stdout as NodeJS.ReadableStream),
      text(child.stderr as NodeJS.ReadableStream),
    ]);
    const [out, err] = await within(`the end of ${args[0]}`, both, limitMs);
    if (!isAnyEnd && (out === "" || err !== "")) throw new Error((err || "it wrote nothing").slice(0, MAX_OUTPUT));
    return out;
  } finally {
    child.kill("SIGKILL");
  }
}

function commandOf(program: Program, peer: string, args: readonly string[]): [string, readonly string[]] {
  const file = join(FOLDER, program);
  return program.endsWith(".py") ? [peer, [file, ...args]] : [process.execPath, [file, peer, ...args]];
}

const run = (node: string, args: readonly string[], stderr: "pipe" | "ignore", cwd?: string): ChildProcess =>
  spawn(node, args, {
    env: { PATH: process.env["PATH"], PYTHONDONTWRITEBYTECODE: "1" },
    stdio: ["ignore", "pipe", stderr],
    ...(cwd !== undefined && { cwd }),
  });
