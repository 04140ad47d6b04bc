/**
 * `npm run sim -- …`: compiles the simulator into a temporary folder and runs it, since it is far faster so. A mutant is
 * the same with one text of one source file replaced while it is compiled. The options are in `options.ts`.
 */

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../..");

/**
 * The simulator as one file in `folder`, with the replacements of `mutant` (`{ file, find, replace }`) in it. Throws when
 * the text to be replaced does not stand in the file exactly once, or the file is not part of the simulator.
 */
export async function compile(folder, name, entry = "main.ts", mutant = undefined) {
  const outfile = join(folder, `${name}.mjs`);
  let isReplaced = mutant === undefined;
  const mutate = {
    name: "mutate",
    setup(builder) {
      builder.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        if (relative(root, path).split(sep).join("/") !== mutant.file) return undefined;
        const text = readFileSync(path, "utf8");
        const count = text.split(mutant.find).length - 1;
        if (count !== 1) throw new Error(`mutant ${mutant.name}: its text stands ${count} times in ${mutant.file}`);
        isReplaced = true;
        return { contents: text.replace(mutant.find, () => mutant.replace), loader: "ts" };
      });
    },
  };
  await build({
    entryPoints: [join(here, entry)],
    outfile,
    bundle: true,
    platform: "node",
    target: "node20",
    format: "esm",
    sourcemap: "inline",
    // Packages that the state machine imports are written for `require`.
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    logLevel: "silent",
    plugins: mutant === undefined ? [] : [mutate],
  });
  if (!isReplaced) throw new Error(`mutant ${mutant.name}: ${mutant.file} is not part of the simulator`);
  return outfile;
}

/** Calls `use` with a folder that is removed afterwards. */
export async function inFolder(use) {
  const folder = mkdtempSync(join(tmpdir(), "gateway-sim-"));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs a compiled simulator to its end; gives its exit status. Interrupts go to it, too. */
function run(file, args) {
  return new Promise((done, failed) => {
    const child = spawn(process.execPath, ["--enable-source-maps", file, ...args], { stdio: "inherit" });
    const stop = (signal) => child.kill(signal);
    process.on("SIGINT", stop);
    process.on("SIGTERM", stop);
    child.on("error", failed);
    child.on("close", (status) => done(status ?? 1));
  });
}

async function runMutants(folder, args) {
  const { MUTANTS } = await import(pathToFileURL(await compile(folder, "mutants", "mutants.ts")).href);
  const only = args.filter((arg) => !arg.startsWith("-") && !/^\d+$/.test(arg));
  const chosen = MUTANTS.filter(({ name }) => only.length === 0 || only.includes(name));
  const passedOn = args.filter((arg) => arg !== "-mutants" && !only.includes(arg));
  let missed = chosen.length === 0 ? 1 : 0;
  for (const mutant of chosen) {
    const file = await compile(folder, mutant.name, "main.ts", mutant);
    const status = await run(file, ["-expect-failure", mutant.name, ...passedOn]);
    if (status !== 0) missed += 1;
  }
  process.stdout.write(`${chosen.length - missed} of ${chosen.length} mutants caught\n`);
  return missed === 0 ? 0 : 1;
}

if (process.argv[1] !== undefined && pathToFileURL(process.argv[1]).href === import.meta.url) {
  const args = process.argv.slice(2);
  process.exitCode = await inFolder(async (folder) =>
    args.includes("-mutants") ? runMutants(folder, args) : run(await compile(folder, "sim"), args),
  );
}
