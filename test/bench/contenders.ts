/** The servers of a load scenario: bare proxy, nginx if installed, gateway, and the scenario's additional ones. */

import { checkGoverned } from "./governance/check.ts";
import { startPiece } from "./parts/children.ts";
import type { ForeignName } from "./parts/foreign.ts";
import { FOREIGN } from "./parts/foreign-gateways.ts";
import { startGateway } from "./parts/gateway.ts";
import { isNginxInstalled, startNginx } from "./parts/nginx.ts";
import { type Contender, load } from "./rounds.ts";
import type { LoadScenario } from "./scenarios.ts";
import { prepare, type Stage } from "./stage.ts";

/** A foreign program's failures are reported before the rounds, which they would break. */
const TRIAL_REQUESTS = 20;

interface Contenders {
  readonly all: readonly Contender[];
  /** Requested servers that are not available. */
  readonly missing: readonly string[];
  stop(): Promise<void>;
}

export async function startContenders(scenario: LoadScenario, stage: Stage): Promise<Contenders> {
  const { pieces, upstreamPort } = stage;
  const all: Contender[] = [];
  const missing: string[] = [];
  const stop = async (): Promise<void> => {
    for (const { server } of all) await server.stop();
  };
  try {
    const own = await prepare(stage, scenario.mode, scenario.shape);
    const bare = await startPiece(pieces.bareProxy, [String(upstreamPort)]);
    all.push({ name: "bare", server: bare, shape: own.shape });
    if (isNginxInstalled()) {
      all.push({ name: "nginx", server: await startNginx(pieces.folder, upstreamPort), shape: own.shape });
    }
    const gateway = await startGateway(own.gateway);
    all.push({ name: "gateway", server: gateway, shape: own.shape });
    await checkGoverned(own, gateway);
    const { against } = stage.options;
    if (against !== undefined) {
      const other = await prepare(stage, scenario.mode, scenario.shape, 1, against);
      const server = await startGateway(other.gateway);
      all.push({ name: "other build", server, shape: other.shape });
      await checkGoverned(other, server);
      return { all, missing, stop };
    }
    if (scenario.beside?.includes("many keys") === true) {
      const many = await prepare(stage, scenario.mode, scenario.shape, stage.manyKeys);
      const server = await startGateway(many.gateway);
      all.push({ name: "many keys", server, shape: many.shape });
      await checkGoverned(many, server);
    }
    if (scenario.beside?.includes("governed") === true) {
      const governed = await prepare(stage, "governed", scenario.shape);
      const server = await startGateway(governed.gateway);
      all.push({ name: "governed", server, shape: governed.shape });
      await checkGoverned(governed, server);
    }
    if (scenario.bytesModel !== undefined) {
      const bytes = await prepare(stage, scenario.mode, { ...scenario.shape, model: scenario.bytesModel });
      all.push({ name: "bytes", server: await startGateway(bytes.gateway), shape: bytes.shape });
    }
    for (const name of scenario.foreign ?? []) {
      try {
        all.push(await startForeign(name, scenario, stage));
      } catch (error) {
        missing.push(`${name}: not measured: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { all, missing, stop };
}

async function startForeign(name: ForeignName, { shape }: LoadScenario, stage: Stage): Promise<Contender> {
  const { upstreamPort, pieces } = stage;
  const installed = await stage.foreign(name);
  const server = await installed.start({ upstreamPort, loopback: pieces.loopback, model: shape.model });
  const foreign = installed.asked(shape, upstreamPort);
  try {
    await load(stage.ask, { port: server.port, shape: foreign, connections: 1, requests: TRIAL_REQUESTS });
  } catch (error) {
    await server.stop();
    throw error;
  }
  return { name, server, shape: foreign, share: FOREIGN[name].share };
}
