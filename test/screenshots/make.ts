/**
 * `npm run screenshots [-- NAME …]` takes the pictures in `screenshots/`: the real program in a terminal, on a cluster
 * of three processes that serve requests meanwhile. Linux only. Apart from the time of day and the effects of traffic
 * the pictures are the same each time.
 */

import { mkdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { startSimulator } from "../../src/simulator/index.ts";
import { inLight, pngOf, svgOf } from "../console/support/picture.ts";
import { openTerminal, ptySkip } from "../console/support/terminal.ts";
import { startIssuer } from "../e2e/admin/support/issuer.ts";
import { buildProgram } from "../e2e/cluster/support/program.ts";
import { atEnd, type Owner } from "../e2e/support/wait.ts";
import { writeCases } from "./cases.ts";
import { type DemoCluster, exportTrail, FOLDER, GATEWAY, socketOf, startCluster } from "./cluster.ts";
import { PROVIDERS, type ProviderName, secretOf } from "./documents.ts";
import { startFronted } from "./fronted.ts";
import { liveOn } from "./life.ts";
import { startReporting } from "./past-days.ts";
import { type Provider, startProvider } from "./provider.ts";
import { SHOTS, type Shot, SMALL } from "./shots.ts";

const PICTURES = resolve(fileURLToPath(import.meta.url), "../../../screenshots");
/** PNG pixels per SVG unit: sharp when shown at half size, and small enough for the folder. */
const SCALE = 1.5;

/** Runs `work`, then closes what it opened, in reverse order. */
async function owning(work: (owner: Owner) => Promise<void>): Promise<void> {
  const closers: (() => void | Promise<void>)[] = [];
  try {
    await work({ after: (close) => void closers.push(close) });
  } finally {
    for (const close of closers) await close();
  }
}

async function take(shot: Shot, cluster: DemoCluster): Promise<void> {
  const { name, title, node = "n1", columns = 120, rows = 35, args = [], env = {}, light } = shot;
  await owning(async (owner) => {
    const terminal = openTerminal(owner, {
      args: [GATEWAY, "console", "-socket", socketOf(node), ...(light === true ? ["-theme", "light"] : []), ...args],
      // The pictures use their own state folder, which starts empty.
      env: { XDG_STATE_HOME: join(FOLDER, "state"), ...env },
      cwd: FOLDER,
      columns,
      rows,
    });
    await terminal.until(/live/);
    await shot.act(terminal, cluster);
    await terminal.settled();
    if (light === true) {
      terminal.resize(SMALL.columns, SMALL.rows);
      // The emulator crops earlier output; the corner appears once the console has redrawn.
      await terminal.until(() => new RegExp(`^.{${SMALL.columns - 1}}┐$`).test(terminal.row(2)), "the new size");
      await terminal.settled();
      return await writeFile(join(PICTURES, `${name}.svg`), inLight(svgOf(terminal.cells(), title)));
    }
    const svg = svgOf(terminal.cells(), title);
    await writeFile(join(PICTURES, `${name}.svg`), svg);
    await writeFile(join(PICTURES, `${name}.png`), pngOf(svg, SCALE));
  });
  await rm(join(FOLDER, "state"), { recursive: true, force: true });
}

async function main(names: readonly string[]): Promise<void> {
  if (ptySkip !== false) throw new Error(ptySkip);
  buildProgram();
  await mkdir(PICTURES, { recursive: true });
  const shots = names.length === 0 ? SHOTS : SHOTS.filter(({ name }) => names.includes(name));
  await owning(async (owner) => {
    const issuer = await startIssuer(owner);
    const simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
    atEnd(owner, () => simulator.close());
    const adminKey = secretOf("USAGE_ADMIN_KEY");
    const reporting = {
      "acme-messages": await startReporting(owner, adminKey),
      "beta-labs": await startReporting(owner, adminKey),
    };
    const behind = (name: ProviderName) => Object.entries(reporting).find(([it]) => it === name)?.[1] ?? simulator;
    const started = PROVIDERS.map(async (name) => [name, await startProvider(owner, behind(name))] as const);
    const providers = Object.fromEntries(await Promise.all(started)) as Record<ProviderName, Provider>;
    const fronted = await startFronted(owner);
    const cluster = await startCluster(owner, issuer);
    await liveOn(owner, { cluster, providers, issuer, fronted, reporting });
    await exportTrail();
    await writeCases(FOLDER);
    for (const shot of shots) {
      process.stdout.write(`${shot.name}\n`);
      await take(shot, cluster).catch((error: unknown) => {
        process.exitCode = 1;
        process.stderr.write(`${shot.name}: ${error instanceof Error ? error.message : String(error)}\n`);
      });
    }
  });
}

await main(process.argv.slice(2));
