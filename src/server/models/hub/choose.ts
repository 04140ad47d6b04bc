/** Chooses the files of a repository that make up a model, with their digests. */
import { sizeProblem } from "../limits.ts";
import { ModelError } from "../model-error.ts";
import { folderOf, foldersUpwards, isInnerPath, joinPath } from "../paths.ts";
import type { Digest, FileRole, Manifest, ManifestFile, ModelDeclaration, ModelParts } from "../types.ts";
import type { ListedFile, Listing } from "./listing.ts";

export const DEFAULT_ENDPOINT = "https://huggingface.co";

/**
 * Paths where a graph is looked for, in this order. A quantized variant is never chosen automatically, since its scores
 * differ.
 */
const USUAL_GRAPHS = ["onnx/model.onnx", "model.onnx"] as const;

export type HubDeclaration = NonNullable<ModelDeclaration["hub"]>;

/** Returns the hub's address without a trailing slash. */
export const endpointOf = ({ endpoint = DEFAULT_ENDPOINT }: Pick<HubDeclaration, "endpoint">): string =>
  endpoint.replace(/\/+$/, "");

/** Returns the path of the graph, or `undefined` if neither the wanted file nor a usual one exists. */
export function findGraph({ files }: Pick<Listing, "files">, wanted: string | undefined): string | undefined {
  const paths = new Set(files.map(({ path }) => path));
  return (wanted === undefined ? USUAL_GRAPHS : [wanted]).find((path) => paths.has(path));
}

/** Builds the manifest of a hub model from its listing. Throws `ModelError`. */
export function chooseManifest(
  { name, hub }: { readonly name: string; readonly hub: HubDeclaration },
  parts: ModelParts,
  listing: Listing,
): Manifest {
  const endpoint = endpointOf(hub);
  const { repo, revision } = hub;
  const where = `model ${name}: ${endpoint}/${repo}`;
  if (listing.commit !== revision) {
    throw new ModelError("mismatch", `${where} answers with commit ${listing.commit} in place of ${revision}`);
  }
  const byPath = new Map(listing.files.map((file) => [file.path, file]));
  const manifestFile = (role: FileRole, path: string): ManifestFile => {
    const listed = byPath.get(path);
    const size = listed?.size;
    const digest = listed && digestOf(listed);
    if (!isInnerPath(path) || digest === undefined || typeof size !== "number") {
      throw new ModelError(
        "refused",
        `${where} lists ${JSON.stringify(path.slice(0, 200))} without a digest and a size`,
      );
    }
    const url = `${endpoint}/${repo}/resolve/${revision}/${path.split("/").map(encodeURIComponent).join("/")}`;
    return { role, path, digest, size, url };
  };
  const graph = findGraph(listing, hub.model);
  if (graph === undefined && parts === "whole") {
    const message = hub.model === undefined ? `none of ${USUAL_GRAPHS.join(", ")}` : `no ${hub.model}`;
    throw new ModelError("absent", `${where} has ${message} at this commit; \`model\` names the graph`);
  }
  const folder = folderOf(graph ?? hub.model ?? USUAL_GRAPHS[0]);
  const findNearest = (role: FileRole, file: string): readonly ManifestFile[] => {
    const path = foldersUpwards(folder)
      .map((at) => joinPath(at, file))
      .find((at) => byPath.has(at));
    return path === undefined ? [] : [manifestFile(role, path)];
  };
  const files = [
    ...(parts === "whole" && graph !== undefined ? [manifestFile("graph", graph)] : []),
    ...findNearest("tokenizer", "tokenizer.json"),
    ...findNearest("config", "config.json"),
  ];
  const chosenPaths = new Set(files.map(({ path }) => path));
  const candidates =
    parts === "text"
      ? []
      : [...byPath.values()]
          .filter(({ path }) => path.startsWith(folder === "" ? "" : `${folder}/`) && !chosenPaths.has(path))
          // Files that cannot be fetched are no candidates. If the graph needs one, it is reported as missing.
          .filter((file) => isInnerPath(file.path) && typeof file.size === "number" && digestOf(file) !== undefined)
          .map(({ path }) => manifestFile("external_data", path));
  const problem = sizeProblem(files);
  if (problem !== undefined) throw new ModelError("refused", `${where}: ${problem}`);
  return { model: name, parts, files, candidates, hub: { endpoint, repo, commit: revision } };
}

/** Returns the digest of a file. Files stored outside of git have their own; their git id is that of a pointer file. */
function digestOf({ sha256, blob }: ListedFile): Digest | undefined {
  if (sha256 !== undefined) {
    return typeof sha256 === "string" && /^[0-9a-f]{64}$/.test(sha256) ? { kind: "sha256", hex: sha256 } : undefined;
  }
  return typeof blob === "string" && /^[0-9a-f]{40}$/.test(blob) ? { kind: "git_blob", hex: blob } : undefined;
}

/** Returns files that probably hold the graph's weights. The graph itself names them once it is downloaded. */
export function likelyExternalData(graph: string, candidates: readonly ManifestFile[]): readonly ManifestFile[] {
  return candidates.filter(({ path }) => path.startsWith(`${graph}_data`) || path.startsWith(`${graph}.data`));
}
