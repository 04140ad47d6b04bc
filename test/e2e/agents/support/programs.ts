/**
 * Programs that use the official SDK of an agent protocol: servers that run beside a test, and clients that run to
 * their end.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { atEnd, type Owner, within } from "../../support/wait.ts";

const FOLDER = join(dirname(fileURLToPath(import.meta.url)), "../programs");
/** Loading an SDK takes seconds on a busy machine. */
const LIMIT_MS = 60_000;
/** Maximum length of a client's error output. */
const MAX_OUTPUT = 4_096;

type Program =
  `${"mcp-server" | "mcp-client" | "mcp-guarded" | "a2a-agent" | "a2a-client" | "a2a-guarded"}.${"mjs" | "py"}`;

/**
 * Runs until the owner ends. Returns the address, which is the first printed line. `peer` is a file of the packages to
 * load, or the Python that has them.
 */
export async function startProgram(owner: Owner, program: Program, peer: string): Promise<string> {
  const child = run(...commandOf(program, peer, []), "ignore");
  atEnd(owner, () => child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const [url] = (await within(`the address of ${program}`, once(lines, "line"), LIMIT_MS)) as [string];
  return url;
}

/** Returns a client's results by feature, in order. Rejects with its output if it fails. */
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
  /** The exit status is not checked here. */
  readonly isAnyEnd?: true;
}

/** Returns the output of a program with any status. Rejects if it prints only errors. */
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
