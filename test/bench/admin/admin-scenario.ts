/** Inputs of every scenario of the admin plane, and the names of its types. */

import type { LoadJob, LoadResult } from "../child/load.ts";
import type { SteadyJob, SteadyResult } from "../child/steady-load.ts";
import type { Pieces } from "../parts/compile.ts";
import type { Figure as FigureOf } from "../parts/figures.ts";
import type { Scenario } from "../parts/scenario.ts";

export type Figure = FigureOf<"times" | "ms" | "s" | "MiB" | "KiB" | "/s" | "us" | "CPU s/s">;

export interface AdminBenchInputs {
  readonly pieces: Pieces;
  /** `bin/gateway` of the build. */
  readonly launcher: string;
  /** Node flags of the measured gateways. */
  readonly nodeFlags: readonly string[];
  readonly isQuick: boolean;
  /** Share of the time and of the rows: 1, or 0.1 for a quick look. */
  readonly scale: number;
  readonly upstreamPort: number;
  /** Rejects if an answer was not good. */
  load(job: LoadJob): Promise<Extract<LoadResult, { kind: "done" }>>;
  steady(job: SteadyJob): Promise<Extract<SteadyResult, { kind: "done" }>>;
}

export type AdminScenario = Scenario<AdminBenchInputs, Figure["unit"]>;
