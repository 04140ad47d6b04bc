/**
 * Loads the two native packages that models need, in the threads that use them: `onnxruntime-node` runs graphs,
 * `tokenizers` tokenizes texts. An installation without model detectors lacks them.
 */

import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { installCommand, type OptionalPackageName } from "../../../../base/index.ts";
import type { Encoder } from "../text/text-tokens.ts";
import type { Tensor } from "./graph-shapes.ts";

type PackageName = Exclude<OptionalPackageName, "re2">;

/** Path for `require`, or the reason why the package is missing. */
type Located =
  | { readonly kind: "found"; readonly path: string }
  | { readonly kind: "absent"; readonly message: string };

/**
 * Finds a package. `path` is the configuration's `library` or `tokenizer_library`: the folder of the package, or any
 * file in it, such as the shared library. Without it, Node.js looks up the package: beside the program, in NODE_PATH,
 * or in a global folder.
 */
export function locate(name: PackageName, path: string | undefined): Located {
  if (path !== undefined) return locateAt(name, resolve(path));
  try {
    return { kind: "found", path: createRequire(import.meta.url).resolve(name) };
  } catch {
    return { kind: "absent", message: `this needs the package ${name}: install it with \`${installCommand(name)}\`` };
  }
}

/** Maximum number of folders between a path and its package. */
const MAX_PARENTS = 6;

function locateAt(name: PackageName, start: string): Located {
  if (!existsSync(start)) return { kind: "absent", message: `there is nothing at ${start}` };
  const path = realpathSync(start);
  let folder = statSync(path).isDirectory() ? path : dirname(path);
  for (let level = 0; level <= MAX_PARENTS; level++) {
    if (nameOfPackage(folder) === name) return { kind: "found", path: folder };
    folder = dirname(folder);
  }
  return { kind: "absent", message: `${start} is neither the folder of the package ${name} nor a file in it` };
}

function nameOfPackage(folder: string): string | undefined {
  try {
    const read: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return typeof read === "object" && read !== null && "name" in read ? String(read.name) : undefined;
  } catch {
    return undefined;
  }
}

export interface RuntimeTensor {
  readonly type: string;
  readonly dims: readonly number[];
  readonly data: unknown;
}

export interface InferenceSession {
  readonly inputMetadata: readonly Tensor[];
  readonly outputMetadata: readonly Tensor[];
  run(
    feeds: Readonly<Record<string, RuntimeTensor>>,
    fetches: readonly string[],
  ): Promise<Readonly<Record<string, RuntimeTensor>>>;
}

export interface Runtime {
  readonly env: { logLevel: string };
  readonly InferenceSession: {
    create(path: string, options: Readonly<Record<string, unknown>>): Promise<InferenceSession>;
  };
  readonly Tensor: new (type: string, data: BigInt64Array | Int32Array, dims: readonly number[]) => RuntimeTensor;
}

/** Methods of a tokenizer in addition to the encoding. */
interface LoadedTokenizer extends Encoder {
  /** Turns off a setting of tokenizer files that would truncate texts. */
  disableTruncation(): void;
  disablePadding(): void;
}

export interface TokenizerPackage {
  readonly Tokenizer: { fromString(json: string): LoadedTokenizer };
}

const load = (path: string): unknown => createRequire(import.meta.url)(path);

export const loadRuntime = (path: string): Runtime => load(path) as Runtime;

export const loadTokenizers = (path: string): TokenizerPackage => load(path) as TokenizerPackage;
