/** Cache of resolved hub entries. A commit does not change, so it is never resolved again. */
import { join } from "node:path";
import { sha256Of } from "../file-digest.ts";
import { endpointOf, type HubDeclaration } from "../hub/choose.ts";
import { sizeProblem } from "../limits.ts";
import { isInnerPath } from "../paths.ts";
import { FILE_ROLES, type Manifest, type ManifestFile, type ModelParts } from "../types.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";
import type { Layout } from "./layout.ts";

const MAX_FILES = 1_000;

/** Returns the file name of a manifest. `graph`: as the declaration names it. */
export const manifestName = ({ hub, parts }: Pick<Manifest, "hub" | "parts">, graph: string | undefined): string =>
  `${sha256Of([hub?.endpoint, hub?.repo, hub?.commit, graph ?? "", parts].join("\n"))}.json`;

const manifestPath = (layout: Layout, manifest: Pick<Manifest, "hub" | "parts">, graph: string | undefined): string =>
  join(layout.manifests, manifestName(manifest, graph));

/** Reads a manifest. Returns `undefined` if it was never resolved here, or if its file was altered. */
export async function readManifest(
  layout: Layout,
  model: string,
  hub: HubDeclaration,
  parts: ModelParts,
): Promise<Manifest | undefined> {
  const origin = { endpoint: endpointOf(hub), repo: hub.repo, commit: hub.revision };
  const parsed = await readJsonFile(manifestPath(layout, { hub: origin, parts }, hub.model));
  const listed = (parsed as { readonly files?: unknown } | undefined | null)?.files;
  if (!Array.isArray(listed) || listed.length > MAX_FILES || !listed.every(isManifestFile)) return undefined;
  const files: readonly ManifestFile[] = listed;
  if (sizeProblem(files) !== undefined) return undefined;
  return { model, parts, files, candidates: [], hub: origin };
}

function isManifestFile(value: unknown): value is ManifestFile {
  if (typeof value !== "object" || value === null) return false;
  const { role, path, digest, size, url } = value as Partial<ManifestFile>;
  return (
    FILE_ROLES.some((one) => one === role) &&
    typeof path === "string" &&
    isInnerPath(path) &&
    digest?.kind === "sha256" &&
    /^[0-9a-f]{64}$/.test(digest.hex) &&
    typeof size === "number" &&
    typeof url === "string" &&
    URL.canParse(url)
  );
}

/** Stores a complete manifest with SHA-256 digests. `graph`: as in the declaration. */
export async function writeManifest(layout: Layout, manifest: Manifest, graph: string | undefined): Promise<void> {
  const { hub, files } = manifest;
  if (hub !== undefined) await writeJsonFile(manifestPath(layout, manifest, graph), { v: 1, ...hub, files });
}
