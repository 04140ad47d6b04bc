/** Finds the files of a detector's model: by paths in the configuration, or in a declared model. */

import { createHash } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { ModelView } from "../../models/index.ts";
import type { ModelConfig } from "./labels.ts";
import { readModelConfig } from "./labels.ts";

/** Files of a model whose graph is on a server. Paths are absolute. */
export interface TextFiles {
  readonly tokenizer: string;
  readonly config: string | undefined;
  /** Identity, which changes when one of the files does. */
  readonly identity: string;
}

export interface ModelFiles extends TextFiles {
  /** Path of the graph. Files beside it whose names begin with its name belong to the identity too. */
  readonly graph: string;
}

interface FileProblem {
  readonly key: string;
  readonly message: string;
}

interface Keys {
  readonly remote?: object | undefined;
  readonly ref?: string | undefined;
  readonly model?: string | undefined;
  readonly tokenizer?: string | undefined;
  readonly labels_path?: string | undefined;
}

/** Declared models in the cache, by name. */
export type Views = ReadonlyMap<string, ModelView>;

/**
 * Returns the files. Paths in the configuration take precedence over those of the declared model. With `remote` there
 * is no graph.
 */
export function filesOf(keys: Keys, views: Views): ModelFiles | TextFiles | readonly FileProblem[] {
  const view = keys.ref === undefined ? undefined : views.get(keys.ref);
  if (keys.ref !== undefined && view === undefined) {
    return [{ key: "ref", message: `the model \`${keys.ref}\` is not in the cache of this node` }];
  }
  const problems: FileProblem[] = [];
  const pathOf = (key: "model" | "tokenizer", ofView: string | undefined): string => {
    const configured = keys[key] === undefined ? undefined : resolve(keys[key]);
    const path = configured ?? ofView;
    if (path === undefined) {
      problems.push({ key: "ref", message: `the model \`${keys.ref}\` has no ${key === "model" ? "graph" : key}` });
    } else if (!isFile(path)) problems.push({ key, message: `there is no file ${path}` });
    return path ?? "";
  };
  const graph = keys.remote === undefined ? pathOf("model", view?.graph) : undefined;
  const tokenizer = pathOf("tokenizer", view?.tokenizer);
  const config = configOf(keys.labels_path, view, graph ?? tokenizer);
  if (keys.labels_path !== undefined && (config === undefined || !isFile(config))) {
    problems.push({ key: "labels_path", message: `there is no file ${config}` });
  }
  if (problems.length > 0) return problems;
  if (graph === undefined) return { tokenizer, config, identity: identityOf([tokenizer]) };
  return { graph, tokenizer, config, identity: identityOf([...graphFiles(graph), tokenizer]) };
}

/**
 * Returns the path of `config.json`: beside the graph, or above the folder into which exporters put graphs; if the
 * graph is on a server, beside the tokenizer.
 */
function configOf(configured: string | undefined, view: ModelView | undefined, graph: string): string | undefined {
  if (configured !== undefined) return resolve(configured);
  if (view !== undefined) return view.config;
  if (graph === "") return undefined;
  const beside = [dirname(graph), dirname(dirname(graph))].map((folder) => join(folder, "config.json"));
  return beside.find(isFile);
}

/** Reads `config.json`; `undefined` if the model has none. */
export function configRead({ config }: TextFiles): ModelConfig | undefined {
  return config === undefined ? undefined : readModelConfig(config);
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

/** Returns the graph, and the files beside it whose names begin with its name, which contain its larger data. */
function graphFiles(graph: string): readonly string[] {
  const name = basename(graph);
  const folder = dirname(graph);
  return readdirSync(folder)
    .filter((other) => other.startsWith(name))
    .sort()
    .map((other) => join(folder, other));
}

/**
 * Returns an identity computed from file metadata, since reading gigabytes for a digest would take longer than loading
 * them.
 */
function identityOf(paths: readonly string[]): string {
  const hash = createHash("sha256");
  for (const path of paths) {
    const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true });
    hash.update(`${path}\0${dev}:${ino}:${size}:${mtimeNs}\0`);
  }
  return hash.digest("hex");
}
