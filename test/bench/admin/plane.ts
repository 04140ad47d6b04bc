/**
 * A gateway in config mode with admin socket and listener: a single-node cluster, its state in a folder of its own, one
 * provider at the bench's upstream. It runs under the probe, which reports on its heap and main thread.
 */

import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stringify } from "yaml";
import { freePort } from "../../e2e/support/ports.ts";
import type { Alive, MainThread, ProbeQuestion } from "../child/probe.ts";
import { type Child, startAsked, waitForPort } from "../parts/children.ts";
import { waitForReadyLine } from "../parts/gateway.ts";
import type { AdminBenchInputs } from "./admin-scenario.ts";

interface PlaneOptions {
  /** Without one the listener is on the loopback and needs no token. */
  readonly issuer?: { readonly url: string; readonly audience: string };
  /** Text of the policy; `undefined` permits everything. */
  readonly policy?: string;
}

export interface Plane extends Child {
  /** Port of the data plane. */
  readonly port: number;
  /** Port of the admin listener. */
  readonly adminPort: number;
  readonly socketPath: string;
  alive(): Promise<Alive>;
  /** Returns usage since the last call. */
  mainThread(): Promise<MainThread>;
}

const BASE = "/admin/v1";

export async function startPlane(input: AdminBenchInputs, options: PlaneOptions = {}): Promise<Plane> {
  const home = await mkdtemp(join(input.pieces.folder, "plane-"));
  const [port, adminPort] = [await freePort(), await freePort()];
  const socketPath = join(home, "admin.sock");
  await mkdir(join(home, "data"), { mode: 0o700 });
  await writeFile(join(home, "node.yaml"), stringify(nodeFile(options, { home, port, adminPort, socketPath })));
  await writeFile(join(home, "deployment.yaml"), stringify(deployment(input.upstreamPort)));
  if (options.policy !== undefined) await writeFile(join(home, "admin.cedar"), options.policy);
  const nodeFlags = [...input.nodeFlags, "--expose-gc", "--require", input.pieces.probe];
  const args = ["-config", join(home, "node.yaml")];
  const child = startAsked<ProbeQuestion, Alive | MainThread>(input.launcher, args, nodeFlags);
  await waitForPort(port, child);
  await waitForReadyLine(child);
  const plane: Plane = {
    ...child,
    port,
    adminPort,
    socketPath,
    async alive() {
      const answer = await child.ask({});
      if (!("heapBytes" in answer)) throw new Error("the probe reported something else");
      return answer;
    },
    async mainThread() {
      const answer = await child.ask({ kind: "main-thread" });
      if (!("busyShare" in answer)) throw new Error("the probe reported something else");
      return answer;
    },
  };
  await waitForLeader(plane);
  return plane;
}

function nodeFile(
  { issuer, policy }: PlaneOptions,
  { home, port, adminPort, socketPath }: Pick<Plane, "port" | "adminPort" | "socketPath"> & { readonly home: string },
): object {
  return {
    listen: `127.0.0.1:${port}`,
    metrics_listen: "none",
    deployment: "deployment.yaml",
    cluster: { node_id: "bench", data_dir: join(home, "data"), secret: "bench-secret-of-the-cluster", bootstrap: true },
    ...(issuer !== undefined && { issuers: [{ name: "corp", url: issuer.url }] }),
    admin: {
      local_socket: socketPath,
      listen: `127.0.0.1:${adminPort}`,
      ...(policy !== undefined && { policy_file: join(home, "admin.cedar") }),
      ...(issuer !== undefined && { issuers: [{ issuer: "corp", audience: issuer.audience }] }),
    },
  };
}

const deployment = (upstreamPort: number): object => ({
  version: 1,
  providers: [
    { name: "one", dialect: "compat", base_url: `http://127.0.0.1:${upstreamPort}/v1`, api_key: "bench-key-of-one" },
  ],
});

async function waitForLeader(plane: Plane): Promise<void> {
  const deadline = performance.now() + 15_000;
  for (;;) {
    const { status, text } = await call(plane, "GET", "/status");
    if (status === 200 && text.includes('"role":"leader"')) return;
    // Under a policy the bench may read only what it measures; a refusing socket is a working plane.
    if (status === 403) return;
    if (performance.now() > deadline) throw new Error(`the gateway does not lead: ${status} ${text}`);
    await sleep(10);
  }
}

export interface Answered {
  readonly status: number;
  readonly text: string;
  /** Time from the request to the end of its answer. */
  readonly ms: number;
}

interface Sending {
  readonly body?: object;
  readonly signal?: AbortSignal;
}

/** Uses the local socket, with a connection of its own. */
export function call(
  { socketPath }: Pick<Plane, "socketPath">,
  method: string,
  path: string,
  { body, signal }: Sending = {},
): Promise<Answered> {
  const bytes = body === undefined ? undefined : JSON.stringify(body);
  const headers = bytes === undefined ? {} : jsonHeaders(bytes);
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const options = { socketPath, method, path: BASE + path, headers, agent: false, ...(signal && { signal }) };
    const sent = request(options, (answer) => {
      const pieces: Buffer[] = [];
      answer.on("data", (piece: Buffer) => pieces.push(piece));
      answer.once("error", reject);
      answer.once("end", () =>
        resolve({
          status: answer.statusCode ?? 0,
          text: Buffer.concat(pieces).toString(),
          ms: performance.now() - startedAt,
        }),
      );
    });
    sent.once("error", reject);
    sent.end(bytes);
  });
}

/** Like `call`, and rejects unless the answer is good. */
export async function callWell(plane: Plane, method: string, path: string, sending: Sending = {}): Promise<Answered> {
  const answer = await call(plane, method, path, sending);
  if (answer.status < 200 || answer.status > 299) {
    throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text.slice(0, 300)}`);
  }
  return answer;
}

const jsonHeaders = (text: string) => ({
  "content-type": "application/json",
  "content-length": Buffer.byteLength(text),
});

interface TextParts {
  readonly body?: object;
  readonly token?: string;
  /** Host name of the loopback listener, which accepts no other; a socket has none. */
  readonly host?: string;
}

/** Returns a request in the load generator's form. */
export function requestText(method: string, path: string, { body, token, host = "gateway" }: TextParts = {}): string {
  const text = body === undefined ? "" : JSON.stringify(body);
  return [
    `${method} ${BASE}${path} HTTP/1.1`,
    `host: ${host}`,
    ...(token === undefined ? [] : [`authorization: Bearer ${token}`]),
    ...(body === undefined ? [] : Object.entries(jsonHeaders(text)).map(([name, value]) => `${name}: ${value}`)),
    "",
    text,
  ].join("\r\n");
}

const TEAMS = 100;
const CREATORS = 256;
/** Requests passed to the generator at a time. */
const CREATED_AT_ONCE = 5_000;

/** Names of `TEAMS` teams in turn. */
export const teamOf = (number: number): string => `team-${number % TEAMS}`;

/** Mints the keys from `from` up to `until`; returns the number per second. */
export async function createKeys(input: AdminBenchInputs, plane: Plane, from: number, until: number): Promise<number> {
  const startedAt = performance.now();
  for (let at = from; at < until; at += CREATED_AT_ONCE) {
    const count = Math.min(CREATED_AT_ONCE, until - at);
    const texts = Array.from({ length: count }, (_, index) => {
      const number = at + index;
      const body = { name: `key-${String(number).padStart(6, "0")}`, metadata: { team: teamOf(number), env: "prod" } };
      return requestText("POST", "/keys", { body });
    });
    const { socketPath } = plane;
    await input.load({
      port: 0,
      socketPath,
      shape: { kind: "texts", texts },
      connections: Math.min(CREATORS, count),
      requests: count,
    });
  }
  return ((until - from) * 1e3) / (performance.now() - startedAt);
}
