/**
 * `gateway dev`: a gateway in front of a simulated provider, for whoever wants to see one work. It runs from real
 * configuration files in a temporary directory, which a reader may look at while it runs and which go when it stops.
 */
import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger, formatAddress, Lifetime, parseAddress } from "../base/index.ts";
import { readNode, startConfigNode } from "../server/node/index.ts";
import { type DevAddresses, welcome } from "./dev-welcome.ts";
import type { FlagsOf } from "./flags.ts";
import { type ExitStatus, type Io, untilAborted } from "./io.ts";
import { startFailure } from "./run.ts";
import { startSimulator } from "./simulate/index.ts";
import { devFlags } from "./specs.ts";
import { buildOf } from "./version.ts";

export async function run(options: FlagsOf<typeof devFlags>, _: readonly string[], io: Io): Promise<ExitStatus> {
  // Requests are no news here; what goes wrong is.
  const log = createLogger({ stream: io.stderr, isTerminal: true, level: "warn", now: () => io.now() });
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
    };
    io.stdout.write(welcome(addresses, io.isTerminal("stdout") && !io.env["NO_COLOR"]));
    const fault = await Promise.race([untilAborted(io.signal), node.ended]);
    if (fault instanceof Error) throw fault;
    io.stdout.write("\nstopping\n");
    return 0;
  } catch (error) {
    const { status, message } = startFailure(error);
    log.error(message);
    return status;
  } finally {
    await owner.close();
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
