/**
 * `npm run bench:state`: growth of a node's costs with its state. Each size is a gateway of its own, with 1,000 to
 * 100,000 keys by a restored archive, or with a deployment document of many providers, budgets or rules. Writes the
 * figures as JSON and the curves as SVG pictures.
 */

import { mkdir, writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inspect, parseArgs } from "node:util";
import { startPiece } from "./parts/children.ts";
import { align } from "./report.ts";
import { openStage } from "./stage.ts";
import { chartOf } from "./state/chart.ts";
import { type DeploymentSize, deploymentOf, SMALL } from "./state/deployment.ts";
import { type Bench, type Figure, measureDeployment, measureKeys } from "./state/measure.ts";
import { saveArchive, startStateNode } from "./state/node.ts";
import { type Curve, type JudgedCurve, judgeCurve, shortNumber } from "./state/points.ts";

const USAGE = `npm run bench:state -- [--quick] [--only NAME]... [--max-keys N] [--minutes N] [--gateway FILE] [--out FOLDER]

  --quick         the two smallest sizes of each
  --only NAME     keys, providers, budgets, rules-of-others or rules; may be given more than once
  --max-keys N    largest number of keys (default 100000; 1000000 takes 6 GiB of memory and about 15 minutes)
  --minutes N     no further size is begun after so many minutes (default 15)
  --gateway FILE  the launcher to measure (default bin/gateway)
  --out FOLDER    where the results are written (default docs/curves)
`;

interface Series {
  readonly name: string;
  readonly title: string;
  readonly sizes: readonly number[];
  measure(bench: Bench, size: number): Promise<readonly Figure[]>;
}

const ofDocument = (
  name: string,
  title: string,
  sizes: readonly number[],
  table: string,
  sized: (size: number) => Partial<DeploymentSize>,
): Series => ({
  name,
  title,
  sizes,
  measure: (bench, size) => measureDeployment(bench, { ...SMALL, ...sized(size) }, table),
});

const KEY_SIZES = [1_000, 10_000, 100_000, 1_000_000];

const SERIES: readonly Series[] = [
  { name: "keys", title: "Virtual keys", sizes: KEY_SIZES, measure: measureKeys },
  ofDocument("providers", "Providers", [10, 100, 1_000], "models", (providers) => ({ providers })),
  ofDocument("budgets", "Budgets, each with a profile", [1, 10, 100, 1_000], "budgets", (budgets) => ({ budgets })),
  ofDocument(
    "rules-of-others",
    "Access rules of profiles that the caller does not have",
    [100, 1_000, 10_000],
    "profiles",
    (otherRules) => ({ otherRules }),
  ),
  ofDocument("rules", "Access rules for every request", [10, 100, 1_000], "profiles", (commonRules) => ({
    commonRules,
  })),
];

const QUICK_SIZES = 2;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

function readOptions() {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      "max-keys": { type: "string", default: "100000" },
      minutes: { type: "string", default: "15" },
      gateway: { type: "string", default: fileURLToPath(new URL("../../bin/gateway", import.meta.url)) },
      out: { type: "string", default: fileURLToPath(new URL("../../docs/curves", import.meta.url)) },
    },
  });
  const unknown = values.only.find((name) => !SERIES.some((series) => series.name === name));
  if (unknown !== undefined) throw new Error(`no series ${unknown}`);
  return values;
}

/** A gateway without keys, from whose state the archives are made. */
async function saveBase(bench: Omit<Bench, "base">): Promise<string> {
  const { stage } = bench;
  const { folder, probe } = stage.pieces;
  const home = join(folder, "base");
  await mkdir(home);
  const deployment = deploymentOf(SMALL, stage.upstreamPort, 0);
  const node = await startStateNode({ file: stage.options.gateway, probe, home, deployment });
  const path = join(folder, "base.tar.gz");
  await saveArchive(node, path);
  await node.stop();
  return path;
}

function curvesOf(series: Series, measured: ReadonlyMap<number, readonly Figure[]>): readonly JudgedCurve[] {
  const curves = new Map<string, Curve & { readonly points: { size: number; value: number }[] }>();
  for (const [size, figures] of measured) {
    for (const { figure, unit, growth, value } of figures) {
      const curve = curves.get(figure) ?? { of: series.name, figure, unit, growth, points: [] };
      curve.points.push({ size, value });
      curves.set(figure, curve);
    }
  }
  return [...curves.values()].map(judgeCurve);
}

function tableOf({ title, sizes }: Series, curves: readonly JudgedCurve[]): string {
  const shown = sizes.filter((size) => curves.some(({ points }) => points.some((point) => point.size === size)));
  const rows = curves.map(({ figure, unit, growth, points, each, exponent, isWithin }) => [
    `${figure}, ${unit}`,
    ...shown.map((size) => shortNumber(points.find((point) => point.size === size)?.value ?? Number.NaN)),
    growth === "linear" ? `${shortNumber(each * 1e3)} per 1,000` : "",
    Number.isNaN(exponent) ? "" : exponent.toFixed(2),
    growth,
    isWithin ? "" : "MISS",
  ]);
  return `${title}\n${align([["", ...shown.map(shortNumber), "each", "exponent", "expected", ""], ...rows])}`;
}

async function run(): Promise<void> {
  const options = readOptions();
  process.env["GATEWAY_WORKERS"] = "1";
  const startedAt = performance.now();
  const deadline = startedAt + Number(options.minutes) * 60_000;
  const common = { isQuick: false, only: [], hasProfile: false, isStrict: false, rounds: 5 } as const;
  const stage = await openStage({ ...common, gateway: options.gateway });
  const bare = await startPiece(stage.pieces.bareProxy, [String(stage.upstreamPort)]);
  try {
    await measureSeries({ stage, bare, base: await saveBase({ stage, bare }) }, options, deadline);
  } finally {
    await bare.stop();
    await stage.end();
  }
  say(`${((performance.now() - startedAt) / 60_000).toFixed(1)} minutes`);
}

async function measureSeries(bench: Bench, options: ReturnType<typeof readOptions>, deadline: number): Promise<void> {
  const machine = `${cpus().length} x ${cpus()[0]?.model ?? "unknown"}, node ${process.version}`;
  const load = loadavg().map((average) => Number(average.toFixed(1)));
  say(`${machine}; load before ${load.join(" ")}\n`);
  await mkdir(options.out, { recursive: true });
  for (const series of SERIES.filter(({ name }) => options.only.length === 0 || options.only.includes(name))) {
    const most = series.name === "keys" ? Number(options["max-keys"]) : Number.POSITIVE_INFINITY;
    const sizes = series.sizes.filter((size) => size <= most).slice(0, options.quick ? QUICK_SIZES : undefined);
    const measured = new Map<number, readonly Figure[]>();
    for (const size of sizes) {
      if (performance.now() > deadline) {
        say(`${series.name} ${size}: not measured, the time is over`);
        continue;
      }
      const begunAt = performance.now();
      measured.set(size, await series.measure(bench, size));
      say(`${series.name}, ${shortNumber(size)}: measured in ${((performance.now() - begunAt) / 1_000).toFixed(0)} s`);
      // Written after each size, so that an aborted run keeps its measurements.
      const curves = curvesOf(series, measured);
      const result = { series: series.name, machine, load, curves };
      await writeFile(join(options.out, `${series.name}.json`), `${JSON.stringify(result, null, 1)}\n`);
      await writeFile(join(options.out, `${series.name}.svg`), chartOf(series.title, curves));
    }
    if (measured.size > 0) say(`${tableOf(series, curvesOf(series, measured))}\n`);
  }
}

try {
  await run();
} catch (error) {
  process.stderr.write(`${inspect(error)}\n\n${USAGE}`);
  process.exitCode = 2;
}
