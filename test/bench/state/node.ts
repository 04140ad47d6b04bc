/** A governed gateway with its own cluster, under the probe, that another one can join. */

import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { ARCHIVE_TYPE, BASE_PATH } from "../../../src/admin-api/index.ts";
import { freePort } from "../../e2e/support/ports.ts";
import { type Answered, call } from "../admin/plane.ts";
import type { Alive, ProbeQuestion } from "../child/probe.ts";
import { type Child, startAsked, waitForPort } from "../parts/children.ts";
import { socketIn } from "../parts/configuration.ts";
import { waitForReadyLine } from "../parts/gateway.ts";

export interface StateNode extends Child {
  readonly home: string;
  readonly port: number;
  readonly socketPath: string;
  readonly forwardAddress: string;
  /** Time from spawn to the ready line. */
  readonly readyMs: number;
  /** Heap and buffers of the main thread after two full collections, in bytes. */
  heapBytes(): Promise<number>;
}

interface StateNodeOptions {
  /** The launcher. */
  readonly file: string;
  readonly probe: string;
  /** Folder of the node; an existing one is started with its state. */
  readonly home: string;
  readonly deployment: object;
  /** Address of a member; by default the node starts its own cluster. */
  readonly through?: string;
}

const READ_TIMEOUT_MS = 300_000;
/** A node that joins reads the whole state before it listens: with 1,000,000 keys that takes more than a minute. */
const START_TIMEOUT_MS = 300_000;
const POLL_MS = 10;

export async function startStateNode({ file, probe, home, deployment, through }: StateNodeOptions): Promise<StateNode> {
  await mkdir(join(home, "state"), { recursive: true, mode: 0o700 });
  const [port, raftPort, forwardPort] = [await freePort(), await freePort(), await freePort()];
  const forwardAddress = `127.0.0.1:${forwardPort}`;
  const node = {
    listen: `127.0.0.1:${port}`,
    metrics_listen: "none",
    deployment: "deployment.yaml",
    cluster: {
      node_id: through === undefined ? "one" : "two",
      data_dir: join(home, "state"),
      secret: "bench-secret-of-the-cluster-of-many-keys",
      raft_addr: `127.0.0.1:${raftPort}`,
      forward_addr: forwardAddress,
      ...(through === undefined ? { bootstrap: true } : { join: [through] }),
    },
    admin: { local_socket: socketIn(home) },
  };
  await writeFile(join(home, "node.yaml"), JSON.stringify(node));
  await writeDeployment(home, deployment);
  const startedAt = performance.now();
  const flags = ["--expose-gc", "--require", probe];
  const child = startAsked<ProbeQuestion, Alive>(file, ["-config", join(home, "node.yaml")], flags);
  await waitForPort(port, child, START_TIMEOUT_MS);
  await waitForReadyLine(child, START_TIMEOUT_MS);
  const readyMs = performance.now() - startedAt;
  return Object.assign(child, {
    home,
    port,
    socketPath: socketIn(home),
    forwardAddress,
    readyMs,
    async heapBytes() {
      await child.ask({});
      const { heapBytes, externalBytes } = await child.ask({});
      return heapBytes + externalBytes;
    },
  });
}

export const writeDeployment = (home: string, deployment: object): Promise<void> =>
  writeFile(join(home, "deployment.yaml"), JSON.stringify(deployment));

/** Rejects unless the answer is a 2xx. */
export async function callWell(
  node: Pick<StateNode, "socketPath">,
  method: string,
  path: string,
  body?: object,
): Promise<Answered> {
  const signal = AbortSignal.timeout(READ_TIMEOUT_MS);
  const answer = await call(node, method, path, body === undefined ? { signal } : { body, signal });
  if (answer.status < 200 || answer.status > 299) {
    throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text.slice(0, 300)}`);
  }
  return answer;
}

async function countKeys(node: Pick<StateNode, "socketPath">): Promise<number> {
  const { text } = await callWell(node, "POST", "/query", { sql: "select count(*) from keys" });
  const { rows } = JSON.parse(text) as { readonly rows: readonly (readonly number[])[] };
  return rows[0]?.[0] ?? 0;
}

/** Saves a snapshot; returns the milliseconds it took. */
export async function saveArchive(node: Pick<StateNode, "socketPath">, path: string): Promise<number> {
  const startedAt = performance.now();
  await exchange(node, "GET", undefined, (response) => pipeline(response, createWriteStream(path)));
  return performance.now() - startedAt;
}

/** Restores an archive; returns the milliseconds until the node has `keys` keys. */
export async function restoreArchive(node: Pick<StateNode, "socketPath">, path: string, keys: number): Promise<number> {
  const startedAt = performance.now();
  await exchange(node, "POST", path, async (response) => {
    for await (const _ of response);
  });
  await waitForKeys(node, keys);
  return performance.now() - startedAt;
}

export async function waitForKeys(node: Pick<StateNode, "socketPath">, keys: number): Promise<void> {
  const deadline = performance.now() + READ_TIMEOUT_MS;
  while ((await countKeys(node)) < keys) {
    if (performance.now() > deadline) throw new Error(`the node does not have ${keys} keys`);
    await sleep(POLL_MS);
  }
}

function exchange(
  { socketPath }: Pick<StateNode, "socketPath">,
  method: "GET" | "POST",
  file: string | undefined,
  read: (response: NodeJS.ReadableStream) => Promise<void>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = file === undefined ? {} : { "content-type": ARCHIVE_TYPE };
    const sent = request({ socketPath, method, path: `${BASE_PATH}/snapshot`, headers }, (response) => {
      const { statusCode = 0 } = response;
      if (statusCode < 300) read(response).then(resolve, reject);
      else
        readText(response).then(
          (body) => reject(new Error(`${method} /snapshot answered ${statusCode}: ${body}`)),
          reject,
        );
    });
    sent.on("error", reject);
    if (file === undefined) sent.end();
    else pipeline(createReadStream(file), sent).catch(reject);
  });
}
