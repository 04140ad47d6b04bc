/**
 * Builds the manifest of a declaration that lists its files. Digests and sizes come from the declaration, so no network is
 * needed.
 */

import { sizeProblem } from "./limits.ts";
import { ModelError } from "./model-error.ts";
import { isInnerPath } from "./paths.ts";
import type { FileRole, Manifest, ManifestFile, ModelDeclaration, ModelParts } from "./types.ts";

/** Names of files in the view, by role. External data keep their names, since the graph refers to them by name. */
const FILE_NAMES: Readonly<Partial<Record<FileRole, string>>> = {
  graph: "model.onnx",
  tokenizer: "tokenizer.json",
  config: "config.json",
  special_tokens_map: "special_tokens_map.json",
};

/** Roles that are needed if the graph runs elsewhere. */
const TEXT_ROLES: ReadonlySet<FileRole> = new Set(["tokenizer", "config"]);

/** Builds the manifest. Throws `ModelError`. */
export function declaredManifest({ name, files = [] }: ModelDeclaration, parts: ModelParts): Manifest {
  const declared = files.map(({ role: word, url, sha256, size }): ManifestFile => {
    const role = word === "model" ? "graph" : word;
    const path = FILE_NAMES[role] ?? lastSegment(url);
    if (path === undefined || !isInnerPath(path) || path.includes("/")) {
      throw new ModelError(
        "refused",
        `model ${name}: the address of a file of role ${role} does not end in a valid file name`,
      );
    }
    return { role, path, digest: { kind: "sha256", hex: sha256.toLowerCase() }, size, url };
  });
  const paths = new Set(declared.map(({ path }) => path.toLowerCase()));
  if (paths.size < declared.length)
    throw new ModelError("refused", `model ${name}: two files would have the same name`);
  const wanted = parts === "whole" ? declared : declared.filter(({ role }) => TEXT_ROLES.has(role));
  const problem = sizeProblem(wanted);
  if (problem !== undefined) throw new ModelError("refused", `model ${name}: ${problem}`);
  return { model: name, parts, files: wanted, candidates: [], hub: undefined };
}

function lastSegment(url: string): string | undefined {
  try {
    return decodeURIComponent(new URL(url).pathname.split("/").at(-1) ?? "");
  } catch {
    return undefined;
  }
}
