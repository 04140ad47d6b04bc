/**
 * `gateway dev`: a gateway in front of a simulated provider, for whoever wants to see one work. It runs from real
 * configuration files in a temporary directory, which a reader may look at while it runs and which go when it stops.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger, formatAddress, Lifetime, parseAddress } from "../base/index.ts";
import { loadNode, startNode } from "../server/node/index.ts";
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
    const loaded = await loadNode(nodePath, io.env);
    if (loaded.kind === "refused") throw new Error(loaded.problems.join("; "));
    const { nodeFile, compiled } = loaded.node;
    const { version, commit } = buildOf();
    const node = await startNode(
      {
        listen: nodeFile.listen,
        metricsListen: nodeFile.metrics_listen,
        storage: { dir: nodeFile.cluster.data_dir, nodeId: nodeFile.cluster.node_id },
        snapshot: compiled.snapshot,
        maxInFlight: undefined,
        maxBufferedBytes: undefined,
      },
      owner,
      log,
      { version, commit, node: process.versions.node },
    );
    const addresses: DevAddresses = {
      gateway: `http://${node.address}`,
      simulator: simulator.url,
      metrics: node.metricsAddress && `http://${node.metricsAddress}/metrics`,
      directory: dir,
    };
    io.stdout.write(welcome(addresses, io.isTerminal("stdout") && !io.env["NO_COLOR"]));
    await untilAborted(io.signal);
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
  secret: only-for-trying-things
  bootstrap: true
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
