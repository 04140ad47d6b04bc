/** Child processes of the runner: any Node program, and a test process. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

/** Time limit of a test; a longer one counts as hung. */
const TEST_LIMIT_MS = 240_000;
/**
 * Time limit for reading the pipes of an ended process, because a process that a test left running can keep them open.
 */
const PIPES_LIMIT_MS = 1_000;

/** Process groups that are running. An interrupted runner kills them. */
const groups = new Set();
process.on("exit", () => {
  for (const group of groups) killGroup(group);
});

/**
 * Runs Node in `cwd` until it ends. Resolves with its status (1 if it was killed) and its output as text. The program and
 * the processes that it starts are one process group, so that none of them is left when it is killed.
 */
export function runNode(args, { cwd, env, limitMs }) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    groups.add(child.pid);
    const output = [];
    const timer = setTimeout(() => {
      output.push(Buffer.from(`killed: it has taken ${limitMs / 1000} s\n`));
      killGroup(child.pid);
    }, limitMs);
    child.stdout.on("data", (bytes) => output.push(bytes));
    child.stderr.on("data", (bytes) => output.push(bytes));
    child.on("error", reject);
    child.on("exit", (status) => {
      clearTimeout(timer);
      groups.delete(child.pid);
      setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
      }, PIPES_LIMIT_MS).unref();
      child.on("close", () => resolve({ status: status ?? 1, output: Buffer.concat(output).toString("utf8") }));
    });
  });
}

function killGroup(pid) {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group has ended meanwhile.
  }
}

/** Runs a test program that writes its tally (tally.mjs) to `tallyPath`. Resolves with the runner's report of it. */
export async function runTests(program, { tallyPath, options, limitMs, cwd, env }) {
  const startedAt = performance.now();
  const { status, output } = await runNode(
    [
      "--enable-source-maps",
      `--test-timeout=${TEST_LIMIT_MS}`,
      "--test-reporter=spec",
      "--test-reporter-destination=stdout",
      "--test-reporter=./test/runner/tally.mjs",
      `--test-reporter-destination=${tallyPath}`,
      ...options,
      program,
    ],
    { cwd, env, limitMs },
  );
  const seconds = (performance.now() - startedAt) / 1000;
  const tally = readTally(tallyPath);
  // A process that ended early has not reported its tests, whatever its status.
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
