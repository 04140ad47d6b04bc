/**
 * `gateway dev`: a gateway in front of a simulated provider, for whoever wants to see one work. It runs from real
 * configuration files in a temporary directory, which a reader may look at while it runs and which go when it stops.
 */
import { accessSync, constants } from "node:fs";
import { mkdtemp, open, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createAdminClient } from "../../admin-api/index.ts";
import { createLogger, formatAddress, Lifetime, parseAddress, parseLogLevel } from "../../base/index.ts";
import { readNode, startConfigNode } from "../../server/node/index.ts";
import { buildOf } from "../build.ts";
import { checkAddress } from "../check-address.ts";
import { isColoured } from "../colours.ts";
import { DEV_PROFILE, writeDevFiles } from "../dev/files.ts";
import { type DevAddresses, welcome } from "../dev/welcome.ts";
import type { FlagsOf } from "../flags.ts";
import { type ExitStatus, type Io, untilAborted } from "../io.ts";
import { devFlags } from "../specs.ts";
import { CANNOT_LISTEN, startFailure } from "../start-failure.ts";

/** One write to a cluster of one. */
const MINT_LIMIT_MS = 10_000;

export async function run(options: FlagsOf<typeof devFlags>, _: readonly string[], io: Io): Promise<ExitStatus> {
  checkAddress("listen", options.listen);
  if (options.metricsListen !== "none") checkAddress("metrics-listen", options.metricsListen);
  // Requests are no news here; what goes wrong is.
  const level = parseLogLevel(io.env["GATEWAY_LOG"] ?? "warn") ?? "warn";
  const log = createLogger({ stream: io.stderr, isTerminal: true, level, now: () => io.now() });
  const owner = new Lifetime({ onFailure: (name, error) => log.error("could not close", { name, error }) });
  try {
    const { startSimulator } = await import("../../simulator/index.ts");
    const simulator = owner.own("simulator", await startSimulator({ host: "127.0.0.1", port: 0 }), (it) => it.close());
    const dir = owner.own("files", await mkdtemp(join(tmpdir(), "gateway-dev-")), (it) =>
      rm(it, { recursive: true, force: true }),
    );
    const listen = await portOf(await freeAddress(options.listen, devFlags.listen.default));
    const wanted = {
      listen,
      publicUrl: publicUrl(listen),
      metricsListen: await freeAddress(options.metricsListen, devFlags["metrics-listen"].default),
    };
    const { nodePath, suitePath } = await writeDevFiles(dir, { ...wanted, simulatorUrl: simulator.url });
    const documents = await readNode(nodePath, io.env);
    const { nodeFile } = documents;
    if (nodeFile === undefined || !documents.isSound) throw new Error(documents.problems.join("; "));
    // Beside the configuration: here the terminal is for the reader.
    const audit = owner.own("audit file", await open(join(dir, "audit.jsonl"), "a", 0o600), (it) => it.close());
    const { version, commit } = buildOf();
    const node = await startConfigNode(
      {
        documents: { ...documents, nodeFile },
        env: io.env,
        build: { version, commit, node: process.versions.node },
        log,
        signal: io.signal,
        auditFd: audit.fd,
        maxInFlight: undefined,
        drainMs: undefined,
        nameServers: [],
        maxBufferedBytes: undefined,
        responsesMemory: undefined,
        usageEveryMs: undefined,
      },
      owner,
    );
    const serving = await node.serving;
    const { socket } = serving;
    if (socket === undefined) throw new Error("the admin socket did not open");
    const addresses: DevAddresses = {
      key: await mint(socket, io.signal),
      gateway: `http://${serving.listen}`,
      simulator: simulator.url,
      metrics: serving.metrics && `http://${serving.metrics}/metrics`,
      socket,
      directory: dir,
      nodePath,
      suitePath,
      launcher: isOnPath(io.env) ? undefined : launcher(),
    };
    io.stdout.write(welcome(addresses, isColoured(io)));
    const fault = await Promise.race([untilAborted(io.signal), node.ended]);
    if (fault instanceof Error) throw fault;
    // After the ^C that a terminal shows.
    if (io.isTerminal("stderr")) io.stderr.write("\nstopping\n");
    return 0;
  } catch (error) {
    if (io.signal.aborted) return 0;
    const { status, message } = startFailure(error);
    io.stderr.write(`gateway dev: ${message}\n`);
    if (status === CANNOT_LISTEN) io.stderr.write("try: -listen 127.0.0.1:0 -metrics-listen 127.0.0.1:0\n");
    return status;
  } finally {
    await owner.close();
  }
}

/** The key that what is printed is called with, as anybody would mint it. */
async function mint(socket: string, signal: AbortSignal): Promise<string> {
  const client = createAdminClient({ door: { kind: "socket", path: socket }, timeLimitMs: MINT_LIMIT_MS });
  try {
    const { key } = await client.call("create_key", { body: { name: "dev", profile: DEV_PROFILE } }, { signal });
    if (key === undefined) throw new Error("the key that was minted was not shown");
    return key;
  } finally {
    client.close();
  }
}

/** Whether the commands that are printed find their program. */
function isOnPath(env: Io["env"]): boolean {
  return (env["PATH"] ?? "").split(delimiter).some((dir) => dir !== "" && isExecutable(join(dir, "gateway")));
}

/** bin/gateway above this file, built or not; undefined where there is none. */
function launcher(): string | undefined {
  let dir = dirname(fileURLToPath(import.meta.url));
  for (let up = 0; up < 4; up += 1) {
    const path = join(dir, "bin", "gateway");
    if (isExecutable(path)) return path;
    dir = dirname(dir);
  }
  return undefined;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Addresses that are given out name the port, so that it must be known before anything listens. */
async function portOf(address: string): Promise<string> {
  const parsed = parseAddress(address);
  if (parsed?.port !== 0) return address;
  const { host } = parsed;
  const free = await new Promise<number>((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen({ port: 0, host }, () => {
      const bound = probe.address();
      probe.close(() => resolve(typeof bound === "object" && bound !== null ? bound.port : 0));
    });
  });
  return formatAddress({ ...parsed, port: free });
}

/** One cannot dial a wildcard. */
function publicUrl(address: string): string {
  const { host = "", port = 0 } = parseAddress(address) ?? {};
  return `http://${formatAddress({ host: ["", "0.0.0.0", "::"].includes(host) ? "127.0.0.1" : host, port })}`;
}

/** A default address that is taken gives way to a free port; one that was asked for does not. */
async function freeAddress(address: string, usual: string): Promise<string> {
  const parsed = parseAddress(address);
  if (address !== usual || parsed?.host === undefined) return address;
  const { host, port } = parsed;
  const isFree = await new Promise<boolean>((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, host, () => probe.close(() => resolve(true)));
  });
  return isFree ? address : formatAddress({ host, port: 0 });
}
