/** Child processes of the runner: Node with arguments to its end, and one process of tests. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

/** Time that a test may take; a longer one hangs. */
const TEST_LIMIT_MS = 240_000;
/** Time that reading the pipes of an ended process may take: a process that a test left running can keep them open. */
const PIPES_LIMIT_MS = 1_000;

/** Runs Node to its end in `cwd` and resolves with its status (1 if it was killed) and its output as text. */
export function runNode(args, { cwd, env, limitMs }) {
  return new Promise((done, failed) => {
    const child = spawn(process.execPath, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    const output = [];
    const timer = setTimeout(() => {
      output.push(Buffer.from(`killed: it has taken ${limitMs / 1000} s\n`));
      child.kill("SIGKILL");
    }, limitMs);
    child.stdout.on("data", (bytes) => output.push(bytes));
    child.stderr.on("data", (bytes) => output.push(bytes));
    child.on("error", failed);
    child.on("exit", (status) => {
      clearTimeout(timer);
      setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
      }, PIPES_LIMIT_MS).unref();
      child.on("close", () => done({ status: status ?? 1, output: Buffer.concat(output).toString("utf8") }));
    });
  });
}

/** Runs a program of tests; `told` is the path at which its tally is left. Returns what the runner reports of it. */
export async function runTests(program, { told, options, limitMs, cwd, env }) {
  const startedAt = performance.now();
  const { status, output } = await runNode(
    [
      "--enable-source-maps",
      `--test-timeout=${TEST_LIMIT_MS}`,
      "--test-reporter=spec",
      "--test-reporter-destination=stdout",
      "--test-reporter=./test/runner/tally.mjs",
      `--test-reporter-destination=${told}`,
      ...options,
      program,
    ],
    { cwd, env, limitMs },
  );
  const seconds = (performance.now() - startedAt) / 1000;
  const tally = readTally(told);
  // A process that ended early has not said what it ran, whatever its status.
  const isOk = status === 0 && tally !== undefined && tally.fail === 0;
  const { pass = 0, failed = [], skipped = [], cpu = 0, children = 0 } = tally ?? {};
  const fail = isOk ? 0 : Math.max(1, tally?.fail ?? 0);
  return { isOk, output, pass, fail, failed, skipped, seconds, cpu: cpu + children, children };
}

function readTally(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}
