/**
 * `gateway dev`: a gateway in front of a simulated provider, to see one work. It runs from real configuration files in a
 * temporary directory, which can be read while it runs and are deleted when it stops.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAdminClient } from "../../admin-api/index.ts";
import { createLogger, Lifetime, type Log, parseLogLevel } from "../../base/index.ts";
import { checkAddress } from "../check-address.ts";
import { isColored } from "../color.ts";
import { freeAddress, portOf, publicUrl } from "../dev/addresses.ts";
import { runDevInspector } from "../dev/dev-inspector.ts";
import { type DevNode, startDevNode } from "../dev/dev-node.ts";
import { DEV_PROFILE, writeDevFiles } from "../dev/example-files.ts";
import { launcherFor } from "../dev/find-launcher.ts";
import { type DevAddresses, welcome } from "../dev/welcome-text.ts";
import type { FlagsOf } from "../parse-flags.ts";
import { type ExitStatus, type Io, untilAborted } from "../process-io.ts";
import { CANNOT_LISTEN, startFailure } from "../start-failure.ts";
import { devFlags } from "../verb-flags.ts";

/** Timeout for minting the key, in milliseconds: one write to a cluster with one member. */
const MINT_LIMIT_MS = 10_000;

export async function run(options: FlagsOf<typeof devFlags>, _: readonly string[], io: Io): Promise<ExitStatus> {
  checkAddress("listen", options.listen);
  if (options.metricsListen !== "none") checkAddress("metrics-listen", options.metricsListen);
  // The default logs only warnings and errors, not requests.
  const level = parseLogLevel(io.env["GATEWAY_LOG"] ?? "warn") ?? "warn";
  const log = createLogger({ stream: io.stderr, isTerminal: true, level, now: () => io.now() });
  const owner = new Lifetime({ onFailure: (name, error) => log.error("could not close", { name, error }) });
  try {
    const run = options.inspector ? runDevInspector : runDevGateway;
    const node = await run(options, io, log, owner);
    const fault = await Promise.race([untilAborted(io.signal), node.ended]);
    if (fault instanceof Error) throw fault;
    // The message begins on a new line, since the terminal shows `^C` on the current one.
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

/** Starts the parts of `gateway dev`. `owner` closes everything that is opened. */
async function runDevGateway(options: FlagsOf<typeof devFlags>, io: Io, log: Log, owner: Lifetime): Promise<DevNode> {
  const { startSimulator } = await import("../../simulator/index.ts");
  const simulator = owner.own("simulator", await startSimulator({ host: "127.0.0.1", port: 0 }), (it) => it.close());
  const dir = owner.own("files", await mkdtemp(join(tmpdir(), "gateway-dev-")), (it) =>
    rm(it, { recursive: true, force: true }),
  );
  const data = await freeAddress(options.listen, devFlags.listen.default);
  const metrics = await freeAddress(options.metricsListen, devFlags["metrics-listen"].default);
  const listen = await portOf(data.address);
  const wanted = { listen, publicUrl: publicUrl(listen), metricsListen: metrics.address };
  const { nodePath, suitePath } = await writeDevFiles(dir, { ...wanted, simulatorUrl: simulator.url });
  const node = await startDevNode({ dir, nodePath, io, log }, owner);
  const { serving } = node;
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
    launcher: launcherFor(io.env),
    movedReasons: [data, metrics].flatMap(({ movedReason }) => movedReason ?? []),
  };
  io.stdout.write(welcome(addresses, isColored(io), options.more));
  return node;
}

/** Mints the virtual key that the printed examples use. */
async function mint(socket: string, signal: AbortSignal): Promise<string> {
  const client = createAdminClient({ address: { kind: "socket", path: socket }, timeLimitMs: MINT_LIMIT_MS });
  try {
    const { key } = await client.call("create_key", { body: { name: "dev", profile: DEV_PROFILE } }, { signal });
    if (key === undefined) throw new Error("the text of the new key was not returned");
    return key;
  } finally {
    client.close();
  }
}
