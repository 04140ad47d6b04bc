/** `gateway dev -inspector`: an inspector with the example's guardrails, and a configuration for an Envoy that asks it. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Lifetime, Log } from "../../base/index.ts";
import { isColored } from "../color.ts";
import type { FlagsOf } from "../parse-flags.ts";
import type { Io } from "../process-io.ts";
import { devFlags } from "../verb-flags.ts";
import { freeAddress, portOf } from "./addresses.ts";
import { type DevNode, startDevNode } from "./dev-node.ts";
import { envoyBootstrap } from "./envoy-bootstrap.ts";
import { GUARDRAILS } from "./example-files.ts";
import { launcherFor, quoteForShell } from "./find-launcher.ts";
import { movedLines } from "./welcome-text.ts";

const ENVOY_LISTEN = "127.0.0.1:10000";
const ENVOY_ADMIN = "127.0.0.1:9901";

const MODES = { request_body_mode: "streamed", inspect_responses: "" } as const;

/** Starts the parts of `gateway dev -inspector`. `owner` closes everything that is opened. */
export async function runDevInspector(
  options: FlagsOf<typeof devFlags>,
  io: Io,
  log: Log,
  owner: Lifetime,
): Promise<DevNode> {
  const { startSimulator } = await import("../../simulator/index.ts");
  const simulator = owner.own("simulator", await startSimulator({ host: "127.0.0.1", port: 0 }), (it) => it.close());
  const dir = owner.own("files", await mkdtemp(join(tmpdir(), "gateway-dev-")), (it) =>
    rm(it, { recursive: true, force: true }),
  );
  const found = {
    inspector: await freeAddress(options.listen, devFlags.listen.default),
    metrics: await freeAddress(options.metricsListen, devFlags["metrics-listen"].default),
    envoy: await freeAddress(ENVOY_LISTEN, ENVOY_LISTEN),
    admin: await freeAddress(ENVOY_ADMIN, ENVOY_ADMIN),
  };
  const inspector = await portOf(found.inspector.address);
  const metrics = found.metrics.address;
  const envoy = await portOf(found.envoy.address);
  const admin = await portOf(found.admin.address);
  const upstream = new URL(simulator.url).host;
  const bootstrap = envoyBootstrap({ listen: envoy, admin, inspector, upstream, modes: MODES });
  const nodePath = join(dir, "node.yaml");
  const envoyPath = join(dir, "envoy.yaml");
  await Promise.all([
    writeFile(nodePath, nodeFile(inspector, metrics)),
    writeFile(join(dir, "deployment.yaml"), GUARDRAILS),
    writeFile(envoyPath, bootstrap),
  ]);
  const node = await startDevNode({ dir, nodePath, io, log }, owner);
  const { serving } = node;
  const addresses = {
    inspector: serving.inspector ?? inspector,
    metrics: serving.metrics && `http://${serving.metrics}/metrics`,
    ...{ envoy: `http://${envoy}`, envoyAdmin: `http://${admin}`, upstream: simulator.url },
    ...{ dir, nodePath, envoyPath, bootstrap, launcher: launcherFor(io.env) ?? "gateway" },
    moved: Object.values(found).flatMap(({ movedReason }) => movedReason ?? []),
  };
  io.stdout.write(inspectorText(addresses, isColored(io)));
  return node;
}

const nodeFile = (inspector: string, metrics: string): string => `\
# Node file of an inspector: it inspects traffic of another proxy and routes nothing.
metrics_listen: "${metrics}"
deployment: deployment.yaml
# An inspector keeps no state, so there is no data_dir.
cluster: { node_id: dev, bootstrap: true }
extproc:
  inspect_listen: "${inspector}"
  request_body_mode: ${MODES.request_body_mode}
`;

interface Printed {
  readonly inspector: string;
  readonly metrics: string | undefined;
  readonly envoy: string;
  readonly envoyAdmin: string;
  readonly upstream: string;
  readonly dir: string;
  readonly nodePath: string;
  readonly envoyPath: string;
  readonly bootstrap: string;
  readonly launcher: string;
  readonly moved: readonly string[];
}

function inspectorText(printed: Printed, isColored: boolean): string {
  const { inspector, metrics, envoy, envoyAdmin, upstream, dir, nodePath, envoyPath, bootstrap, launcher, moved } =
    printed;
  const bold = (text: string): string => (isColored ? `\u001b[1m${text}\u001b[22m` : text);
  const dim = (text: string): string => (isColored ? `\u001b[2m${text}\u001b[22m` : text);
  const curl = (content: string): string =>
    `curl -i ${envoy}/v1/chat/completions -H 'content-type: application/json' -d '{"model":"sim-chat","messages":[{"role":"user","content":"${content}"}]}'`;
  return `
${bold("gateway dev -inspector")}  guardrails for what an Envoy routes

  inspector  ${inspector}  ${dim("gRPC, plaintext")}
  upstream   ${upstream}  ${dim("a simulated provider")}
  metrics    ${metrics ?? "none"}
  files      ${dir}  ${dim("temporary")}
${movedLines(moved)}
${bold("Envoy")}  ${dim("1.36 or later, in another terminal")}

envoy -c ${quoteForShell(envoyPath)}

${bold("Through it")}  ${dim("unchanged; with a card and an address redacted; denied")}

${curl("Hello")}
${curl("Bill 4111 1111 1111 1111, mail ada@example.com")}
${curl("AKIAZ3PXQ7LMWT5RKD4B")}

${bold("What Envoy counts")}

curl -s '${envoyAdmin}/stats?filter=ext_proc'

${bold("The same inspector by itself")}  ${dim("from a copy of the files")}

${quoteForShell(launcher)} -config ${quoteForShell(nodePath)}

${bold("envoy.yaml")}

${bootstrap}
${bold("ready")}  Ctrl-C stops it and leaves nothing behind
`;
}
