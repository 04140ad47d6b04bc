/**
 * Shared by all scenarios of a run: the upstream, the generators, and expensive items made once on demand: gateways'
 * folders with minted keys, and foreign gateways.
 */

import type { LoadJob, LoadResult } from "./child/load.ts";
import type { RequestShape } from "./child/requests.ts";
import type { SteadyJob, SteadyResult } from "./child/steady-load.ts";
import { type Keyring, makeKeyring } from "./governance/keyring.ts";
import type { BenchOptions } from "./options.ts";
import { startAsked, startPiece } from "./parts/children.ts";
import { compilePieces, type Pieces } from "./parts/compile.ts";
import type { GatewayMode } from "./parts/configuration.ts";
import type { ForeignName, InstalledGateway } from "./parts/foreign.ts";
import { FOREIGN } from "./parts/foreign-gateways.ts";
import type { GatewayOptions } from "./parts/gateway.ts";
import type { RunLoad } from "./rounds.ts";
import { MANY_KEYS } from "./scenarios.ts";

type GoverningMode = Extract<GatewayMode, "governed" | "recorded" | "guarded" | "guarded answers">;

export interface Stage {
  readonly options: BenchOptions;
  readonly pieces: Pieces;
  readonly upstreamPort: number;
  /** Share of the load: 1, or 0.1 for a quick look. */
  readonly scale: number;
  /** Number of keys in the many-keys scenarios. */
  readonly manyKeys: number;
  readonly ask: RunLoad;
  /** Rejects if an answer was not good. */
  steady(job: SteadyJob): Promise<Extract<SteadyResult, { kind: "done" }>>;
  keyring(file: string, mode: GoverningMode, count: number): Promise<Keyring>;
  /** Rejects with the reason if it is not available. */
  foreign(name: ForeignName): Promise<InstalledGateway>;
  end(): Promise<void>;
}

const QUICK_SCALE = 0.1;
/** Builds are compared in many short rounds, since the machine's speed changes from second to second. */
const COMPARED_SCALE = 0.25;

export async function openStage(options: BenchOptions): Promise<Stage> {
  const pieces = await compilePieces();
  const upstream = await startPiece(pieces.upstream, []);
  const generator = startAsked<LoadJob, LoadResult>(pieces.load);
  const steady = startAsked<SteadyJob, SteadyResult>(pieces.steadyLoad);
  const scale = options.isQuick ? QUICK_SCALE : options.against === undefined ? 1 : COMPARED_SCALE;
  const keyrings = new Map<string, Promise<Keyring>>();
  const installed = new Map<ForeignName, Promise<InstalledGateway>>();
  return {
    options,
    pieces,
    upstreamPort: upstream.port,
    scale,
    manyKeys: MANY_KEYS * scale,
    ask: (job) => generator.ask(job),
    async steady(job) {
      const result = await steady.ask(job);
      if (result.kind === "broken") throw new Error(`steady load: ${result.reason}`);
      if (result.failures > 0) throw new Error(`steady load: ${result.failures} answers were not 2xx`);
      return result;
    },
    keyring(file, mode, count) {
      const name = `${mode} ${count} ${file}`;
      const gateway = { file, mode, upstreamPort: upstream.port, folder: pieces.folder };
      const keyring = keyrings.get(name) ?? makeKeyring({ gateway, probe: pieces.probe, count });
      keyrings.set(name, keyring);
      return keyring;
    },
    foreign(name) {
      const installing = installed.get(name) ?? FOREIGN[name].install(pieces.folder);
      installed.set(name, installing);
      return installing;
    },
    async end() {
      await Promise.all([generator.stop(), steady.stop(), upstream.stop()]);
    },
  };
}

export interface Prepared {
  readonly gateway: GatewayOptions;
  readonly shape: RequestShape;
}

/**
 * Returns how a gateway of a mode is started, and its requests: with `keys` keys in a governing mode. `file` is the
 * launcher, by default the measured one.
 */
export async function prepare(
  stage: Stage,
  mode: GatewayMode,
  shape: RequestShape,
  keys = 1,
  file = stage.options.gateway,
): Promise<Prepared> {
  const { pieces, upstreamPort } = stage;
  const gateway = { file, mode, upstreamPort, folder: pieces.folder };
  if (mode === "flag" || mode === "config") return { gateway, shape };
  const { home, credentials } = await stage.keyring(file, mode, keys);
  return { gateway: { ...gateway, home }, shape: { ...shape, credentials } };
}
