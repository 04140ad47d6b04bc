/**
 * `gateway dev`: a gateway in front of a simulated provider, for whoever wants to see one work. It runs from real
 * configuration files in a temporary directory, which a reader may look at while it runs and which go when it stops.
 */
import { accessSync, constants } from "node:fs";
import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLogger, formatAddress, Lifetime, parseAddress, parseLogLevel } from "../base/index.ts";
import { readNode, startConfigNode } from "../server/node/index.ts";
import { checkAddress } from "./check-address.ts";
import { type DevAddresses, welcome } from "./dev-welcome.ts";
import type { FlagsOf } from "./flags.ts";
import { type ExitStatus, type Io, untilAborted } from "./io.ts";
import { startFailure } from "./run.ts";
import { startSimulator } from "./simulate/index.ts";
import { devFlags } from "./specs.ts";
import { buildOf } from "./version.ts";

const CANNOT_LISTEN = 12;

export async function run(options: FlagsOf<typeof devFlags>, _: readonly string[], io: Io): Promise<ExitStatus> {
  checkAddress("listen", options.listen);
  if (options.metricsListen !== "none") checkAddress("metrics-listen", options.metricsListen);
  // Requests are no news here; what goes wrong is.
  const level = parseLogLevel(io.env["GATEWAY_LOG"] ?? "warn") ?? "warn";
  const log = createLogger({ stream: io.stderr, isTerminal: true, level, now: () => io.now() });
  const owner = new Lifetime({ onFailure: (name, error) => log.error("could not close", { name, error }) });
  try {
    const simulator = owner.own("simulator", await startSimulator({ host: "127.0.0.1", port: 0 }), (it) => it.close());
    const dir = owner.own("files", await mkdtemp(join(tmpdir(), "gateway-dev-")), (it) =>
      rm(it, { recursive: true, force: true }),
    );
    const wanted = {
      listen: await freeAddress(options.listen, devFlags.listen.default),
      metricsListen: await freeAddress(options.metricsListen, devFlags["metrics-listen"].default),
    };
    const nodePath = await writeConfiguration(dir, simulator.url, wanted);
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
        maxBufferedBytes: undefined,
      },
      owner,
    );
    const serving = await node.serving;
    const addresses: DevAddresses = {
      gateway: `http://${serving.listen}`,
      simulator: simulator.url,
      metrics: serving.metrics && `http://${serving.metrics}/metrics`,
      socket: serving.socket,
      directory: dir,
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

/** Conventions: no-color.org; FORCE_COLOR asks for it where no terminal is. */
function isColoured(io: Io): boolean {
  const { NO_COLOR: none, FORCE_COLOR: forced, TERM: terminal } = io.env;
  if (none !== undefined && none !== "") return false;
  if (forced !== undefined && forced !== "" && forced !== "0") return true;
  return io.isTerminal("stdout") && terminal !== "dumb";
}

/** Whether the commands that are printed find their program. */
function isOnPath(env: Io["env"]): boolean {
  return (env["PATH"] ?? "").split(delimiter).some((dir) => dir !== "" && isExecutable(join(dir, "gateway")));
}

/** bin/gateway above this file, built or not; undefined where there is none. */
function launcher(): string | undefined {
  let dir = dirname(fileURLToPath(import.meta.url));
  for (let up = 0; up < 3; up += 1) {
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

interface Wanted {
  readonly listen: string;
  readonly metricsListen: string;
}

async function writeConfiguration(
  dir: string,
  simulatorUrl: string,
  { listen, metricsListen }: Wanted,
): Promise<string> {
  const nodePath = join(dir, "node.yaml");
  await writeFile(
    nodePath,
    `# What this machine's process does.
listen: "${listen}"
metrics_listen: "${metricsListen}"
deployment: deployment.yaml
cluster:
  node_id: dev
  data_dir: ${JSON.stringify(join(dir, "data"))}
  secret: only-for-trying-things-and-nothing-else
  bootstrap: true
admin:
  local_socket: ${JSON.stringify(join(dir, "admin.sock"))}
`,
  );
  await writeFile(
    join(dir, "deployment.yaml"),
    `# What the deployment is: here, one provider that speaks both dialects.
catalog_overlays:
  - name: dev
    providers:
      - op: add
        name: simulator
        schema: { name: compat }
        base_url: ${simulatorUrl}/v1
        strip_path_prefix: /v1
        channels:
          - { id: compat, dialect: compat, tier: provider }
          - { id: messages, dialect: messages, tier: provider }
providers:
  - preset: simulator
    models: ["sim-*"]
    model_aliases: { fast: sim-chat }
`,
  );
  return nodePath;
}
