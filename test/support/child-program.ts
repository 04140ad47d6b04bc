/**
 * TypeScript programs that tests start in child processes. The runner bundles them with the tests, because a TypeScript
 * loader costs a child process a second or more; without the runner the loader is used.
 */
import { existsSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");

interface ChildProgram {
  /** Node options before the path. */
  readonly options: readonly string[];
  readonly path: string;
}

/**
 * Returns how to run the file at `path`, relative to `base`. `base` must be `import.meta.url`, because bundle.mjs
 * searches for it.
 */
export function childProgram(path: string, base: string): ChildProgram {
  const source = fileURLToPath(new URL(path, base));
  const folder = process.env["GATEWAY_TEST_PROGRAMS"];
  if (folder !== undefined) {
    const bundled = join(folder, relative(root, source).replace(/\.tsx?$/, ".js"));
    if (existsSync(bundled)) return { options: ["--enable-source-maps"], path: bundled };
  }
  return { options: ["--import", "tsx"], path: source };
}

/** Returns the arguments for Node that run the program. */
export function childArgs(path: string, base: string): readonly string[] {
  const program = childProgram(path, base);
  return [...program.options, program.path];
}
