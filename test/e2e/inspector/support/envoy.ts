/** A real Envoy with a given configuration, and an upstream behind it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EnvoySettings, envoyBootstrap } from "../../../../src/cli/dev/envoy-bootstrap.ts";
import { freePort } from "../../support/ports.ts";
import { atEnd, eventually, type Owner } from "../../support/wait.ts";

/** Time to load its configuration on a loaded machine. */
const START_MS = 60_000;

interface Proxy {
  /** `http://host:port` */
  readonly url: string;
  /** Counters of the filter, by the last part of their names. */
  readonly counters: () => Promise<ReadonlyMap<string, number>>;
  /** Kills it without a shutdown. */
  readonly kill: () => Promise<void>;
}

interface ProxyOptions {
  readonly inspector: string;
  readonly upstream: string;
  readonly allowsFailure?: boolean;
  /** Duration in Envoy's format: `1s`. */
  readonly messageTimeout?: string;
  readonly modes?: EnvoySettings["modes"];
  /** Interval of keepalive checks of the inspector. */
  readonly keepalive?: string;
}

const MODES = { request_body_mode: "streamed", inspect_responses: "" } as const;

export async function startProxy(owner: Owner, binary: string, options: ProxyOptions): Promise<Proxy> {
  const {
    inspector,
    upstream,
    allowsFailure = false,
    messageTimeout = "10s",
    modes = MODES,
    keepalive = "10s",
  } = options;
  const [listen, admin] = (await Promise.all([freePort(), freePort()])).map((port) => `127.0.0.1:${port}`);
  const text = envoyBootstrap({ listen: listen ?? "", admin: admin ?? "", inspector, upstream, modes })
    .replace("failure_mode_allow: false", `failure_mode_allow: ${allowsFailure}`)
    .replace("interval: 10s, timeout: 5s", `interval: ${keepalive}, timeout: 5s`)
    .replace("message_timeout: 5s", `message_timeout: ${messageTimeout}`);
  const folder = await mkdtemp(join(tmpdir(), "gateway-envoy-"));
  atEnd(owner, () => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "envoy.yaml");
  await writeFile(path, text);
  const kill = await runEnvoy(owner, binary, path, admin ?? "");
  return {
    kill,
    url: `http://${listen}`,
    async counters() {
      const rows = (await (await fetch(`http://${admin}/stats?filter=ext_proc`)).text()).split("\n");
      return new Map(
        rows.flatMap((row) => {
          const [, name, value] = /ext_proc\.(\w+): (\d+)$/.exec(row) ?? [];
          return name === undefined ? [] : [[name, Number(value)] as const];
        }),
      );
    },
  };
}

/** Resolves when it is ready; the owner kills it earlier. `admin` is its admin address in the configuration. */
export async function runEnvoy(
  owner: Owner,
  binary: string,
  path: string,
  admin: string,
): Promise<() => Promise<void>> {
  const args = ["-c", path, "--use-dynamic-base-id", "--concurrency", "1", "--log-level", "error"];
  const child = spawn(binary, args, { stdio: ["ignore", "ignore", "pipe"] });
  let output = "";
  child.stderr.on("data", (chunk: Buffer) => {
    output = `${output}${chunk}`.slice(-4_000);
  });
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
  };
  atEnd(owner, kill);
  await eventually(
    "Envoy's readiness",
    async () => {
      if (child.exitCode !== null) throw new Error(`Envoy did not start: ${output}`);
      const ready = await fetch(`http://${admin}/ready`).catch(() => undefined);
      await ready?.body?.cancel();
      return ready?.status === 200;
    },
    START_MS,
  );
  return kill;
}

interface Recording {
  /** `host:port` */
  readonly address: string;
  /** Everything that ever reached it, including aborted requests. */
  readonly seen: () => string;
  /** Number of answers held back. */
  readonly holds: () => number;
  /** Releases them. */
  readonly release: () => void;
}

/** Answer to a request with `x-held`: the first part comes at once, the second when it is released. */
const HELD_ANSWER = ['{"choices":[{"message":{"content":"one ada@example.com ', 'two eve@example.com "}}]}'] as const;

/** Answers 200 to every complete request. */
export async function recordingUpstream(owner: Owner): Promise<Recording> {
  const chunks: Buffer[] = [];
  const held: (() => void)[] = [];
  const server = createServer((asked, answer) => {
    asked.on("data", (chunk: Buffer) => chunks.push(chunk));
    asked.on("error", () => undefined);
    asked.on("end", () => {
      if (asked.headers["x-held"] === undefined) return answer.end("{}");
      const [first, rest] = HELD_ANSWER;
      answer.writeHead(200, { "content-type": "application/json" }).write(first);
      return held.push(() => answer.end(rest));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(owner, async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  const { port } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    seen: () => String(Buffer.concat(chunks)),
    holds: () => held.length,
    release() {
      for (const go of held.splice(0)) go();
    },
  };
}

export interface Posting {
  readonly write: (text: string) => void;
  readonly end: (text: string) => void;
  /** Stops waiting. */
  readonly leave: () => void;
  /** Status and body; status 0 if the connection ended unexpectedly after the given body. */
  readonly answered: Promise<{ readonly status: number; readonly body: string }>;
}

/** A chat request whose body is sent in pieces. */
export function postPieces(url: string, further: Readonly<Record<string, string>> = {}): Posting {
  const headers = { "content-type": "application/json", "transfer-encoding": "chunked", ...further };
  const asked = request(`${url}/v1/chat/completions`, { method: "POST", headers, agent: false });
  const answered = new Promise<{ status: number; body: string }>((resolve) => {
    asked.on("error", () => resolve({ status: 0, body: "" }));
    asked.on("response", (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("error", () => resolve({ status: 0, body: String(Buffer.concat(chunks)) }));
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, body: String(Buffer.concat(chunks)) }));
    });
  });
  return {
    write: (text) => void asked.write(text),
    end: (text) => void asked.end(text),
    leave: () => asked.destroy(),
    answered,
  };
}

export function postWhole(url: string, text: string): Posting["answered"] {
  const posting = postPieces(url);
  posting.end(text);
  return posting.answered;
}
