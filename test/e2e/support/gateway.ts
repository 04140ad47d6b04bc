/**
 * The gateway as its users run it: `node bin/gateway …` in a process of its own, found by the address in its log.
 *
 * A process is stopped with its owner by SIGTERM and must then end cleanly; otherwise it is killed and fails the test.
 * A process that the test itself ends is left alone. dist/ is built first if it does not match the source;
 * GATEWAY_TEST_PROGRAM names another program to run, such as an installed one.
 */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { countStart } from "../../support/count-start.ts";
import { atEnd, eventually, type Owner, within } from "./wait.ts";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");
const STOP_LIMIT_MS = 8_000;
/** At a stop each connection that a client keeps open is waited for, for a tenth of this. A test of the drain sets its own. */
const DRAIN = "3s";

const installed = (): string | undefined => process.env["GATEWAY_TEST_PROGRAM"];

/** Tests of the node process: more data plane processes would only make their starts longer. */
const OF_THE_NODE = /[/\\]e2e[/\\](?:(?:admin|audit|reconcile)[/\\]|config[/\\](?:sealed-)?cluster\.)/;

/** Several processes on any machine; another number with `GATEWAY_WORKERS=3 npm test -- test/e2e/governance`. */
const WORKERS = {
  GATEWAY_WORKERS: process.env["GATEWAY_WORKERS"] ?? (OF_THE_NODE.test(process.argv[1] ?? "") ? "1" : "2"),
};

/**
 * For tests that count what each data plane process keeps for itself: fetched tokens, cards and lists, verdicts,
 * models.
 */
export const ONE_PROCESS = { GATEWAY_WORKERS: "1" } as const;

const children = new Set<() => void>();
process.once("exit", () => {
  for (const kill of children) kill();
});

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

export interface End {
  readonly status: number | null;
  readonly signal: string | null;
}

export interface Program {
  readonly pid: number;
  stdout(): string;
  stderr(): string;
  /** The lines of stderr that are JSON. */
  log(): readonly LogLine[];
  /** Resolves with the first line with this message, from `from` on in `log()`. */
  logged(message: string, from?: number): Promise<LogLine>;
  signal(name: NodeJS.Signals): void;
  /** Resolves when the process has ended and its output is read. */
  readonly ended: Promise<End>;
}

export interface Gateway extends Program {
  readonly host: string;
  readonly port: number;
  /** `http://host:port` */
  readonly url: string;
  /** `undefined` if no metrics are served. */
  readonly metricsUrl: string | undefined;
}

interface StartOptions {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Content of its stdin; none if omitted. */
  readonly input?: string;
  /**
   * Command that runs the program in its own environment and then becomes it, such as `["ip", "netns", "exec", "n1"]`.
   */
  readonly prefix?: readonly string[];
}

/** Returns the file to run, built first. */
export function programFile(): string {
  build();
  return installed() ?? join(root, "bin/gateway");
}

/** Runs the program without waiting for it to serve; for verbs, and for starts that are expected to fail. */
export function runProgram(owner: Owner, { args, env = {}, input, prefix = [] }: StartOptions): Program {
  countStart();
  const [command = "", ...before] = [...prefix, process.execPath];
  const child = spawn(command, [...before, programFile(), ...args], {
    env: { PATH: process.env["PATH"], GATEWAY_DRAIN: DRAIN, ...(args.includes("-config") && WORKERS), ...env },
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
  });
  child.stdin?.end(input);
  assert.ok(child.stdout !== null && child.stderr !== null);
  const kill = (): void => void child.kill("SIGKILL");
  children.add(kill);
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  let end: End | undefined;
  const ended = new Promise<End>((done) => {
    child.once("close", (status, signal) => {
      children.delete(kill);
      end = { status, signal };
      done(end);
    });
  });
  atEnd(owner, async () => {
    if (end !== undefined) return;
    child.kill("SIGTERM");
    const stopped = await within("the end of the gateway", ended, STOP_LIMIT_MS).finally(kill);
    assert.deepEqual(stopped, { status: 0, signal: null }, `the gateway did not end well:\n${stderr}`);
  });
  const lines: LogLine[] = [];
  let read = 0;
  const log = (): readonly LogLine[] => {
    const until = stderr.lastIndexOf("\n") + 1;
    if (until > read) lines.push(...stderr.slice(read, until).split("\n").flatMap(readLine));
    read = Math.max(read, until);
    return [...lines];
  };
  return {
    pid: child.pid ?? -1,
    stdout: () => stdout,
    stderr: () => stderr,
    log,
    ended,
    logged: (message, from = 0) =>
      eventually(`the log line "${message}"`, () => {
        const line = log()
          .slice(from)
          .find((candidate) => candidate.message === message);
        if (line === undefined && end !== undefined) throw new Error(`the gateway ended (${end.status}):\n${stderr}`);
        return line;
      }),
    signal: (name) => void child.kill(name),
  };
}

/** Starts a gateway that serves; its listeners are on free loopback ports unless `args` say otherwise. */
export async function startGateway(owner: Owner, options: StartOptions): Promise<Gateway> {
  const program = runProgram(owner, options);
  const { listen, metrics } = await program.logged("ready");
  const { hostname, port } = new URL(`http://${listen}`);
  return {
    ...program,
    host: hostname,
    port: Number(port),
    url: `http://${listen}`,
    metricsUrl: metrics === "none" ? undefined : `http://${metrics}/metrics`,
  };
}

interface Flags {
  readonly upstream: string;
  readonly dialect?: "compat" | "messages";
  readonly more?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts a gateway in flag mode. */
export function startWithFlags(owner: Owner, { upstream, dialect = "compat", more = [], env = {} }: Flags) {
  const listeners = ["-listen", "127.0.0.1:0", "-metrics-listen", "127.0.0.1:0"];
  return startGateway(owner, { args: [...listeners, "-upstream", upstream, "-dialect", dialect, ...more], env });
}

function readLine(line: string): readonly LogLine[] {
  if (!line.startsWith("{")) return [];
  return [JSON.parse(line) as LogLine];
}

let isBuilt = false;

/** Runs once per process; does nothing if dist/ matches the source, as it does once `npm test` has begun. */
function build(): void {
  if (isBuilt || installed() !== undefined) return;
  execFileSync(process.execPath, [join(root, "bin/setup.cjs")], { stdio: "inherit" });
  isBuilt = true;
}
