/**
 * Provenance statement of a release: which files were built, from which commit and packages, and by which commands.
 * Sources: in-toto Attestation Framework, Statement v1; SLSA Provenance v1. The statement contains no time and no
 * machine, so that two builds of a commit get the same statement. It is not signed.
 */

import { createHash } from "node:crypto";
import { COMMANDS } from "./build.ts";

/**
 * URI that defines the meaning of `externalParameters`: source and version of `npm run release`. Change it if that
 * meaning changes.
 */
const BUILD_TYPE = "urn:gateway:build:npm-run-release:1";
const BUILDER = "urn:gateway:builder:npm-run-release";

export interface ProvenanceInput {
  readonly version: string;
  readonly files: readonly { readonly name: string; readonly bytes: Uint8Array }[];
  readonly source: Source;
  /** Text of package-lock.json. */
  readonly lock: string;
  /** Paths in package-lock.json of the packages that the build reads. */
  readonly packages: readonly string[];
  /** Versions of Node.js and npm, by name. */
  readonly tools: Readonly<Record<string, string>>;
}

export interface Source {
  /** URI of the repository, if it has a public one. */
  readonly uri?: string;
  readonly commit: string;
  readonly tree: string;
}

interface ResourceDescriptor {
  readonly name?: string;
  readonly uri?: string;
  readonly digest: Readonly<Record<string, string>>;
}

export function provenanceOf({ version, files, source, lock, packages, tools }: ProvenanceInput): string {
  const { uri, commit, tree } = source;
  const repository = {
    name: "source",
    ...(uri !== undefined && { uri }),
    digest: { gitCommit: commit, gitTree: tree },
  };
  const statement = {
    _type: "https://in-toto.io/Statement/v1",
    subject: files.map(({ name, bytes }) => ({ name, digest: digestsOf(bytes) })),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: BUILD_TYPE,
        externalParameters: { version, source: repository },
        internalParameters: { commands: COMMANDS },
        resolvedDependencies: [
          repository,
          { name: "package-lock.json", digest: digestsOf(Buffer.from(lock)) },
          ...packagesOf(lock, packages),
        ],
      },
      runDetails: { builder: { id: BUILDER, version: tools } },
    },
  };
  return `${JSON.stringify(statement, null, 1)}\n`;
}

function digestsOf(bytes: Uint8Array): Readonly<Record<string, string>> {
  const hex = (algorithm: string): string => createHash(algorithm).update(bytes).digest("hex");
  return { sha256: hex("sha256"), sha512: hex("sha512") };
}

interface Locked {
  readonly name?: string;
  readonly version?: string;
  readonly integrity?: string;
}

/** Returns the packages as Package URLs with the digests that npm checked when it installed them. */
function packagesOf(lock: string, paths: readonly string[]): readonly ResourceDescriptor[] {
  const { packages: locked } = JSON.parse(lock) as { readonly packages: Readonly<Record<string, Locked>> };
  const found = new Map<string, ResourceDescriptor>();
  for (const path of paths) {
    const { name, version, integrity } = locked[path] ?? {};
    const digest = /^sha512-(\S+)$/.exec(integrity ?? "")?.[1];
    if (version === undefined || digest === undefined) throw new Error(`package-lock.json has no digest of ${path}`);
    const id = name ?? path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
    const uri = `pkg:npm/${id.replace("@", "%40")}@${version}`;
    found.set(uri, { uri, digest: { sha512: Buffer.from(digest, "base64").toString("hex") } });
  }
  return [...found.keys()].sort().map((uri) => found.get(uri)!);
}

/** Returns the URI of a repository without credentials; `undefined` for a local path. */
export function repositoryUri(remote: string): string | undefined {
  const ssh = /^(?:ssh:\/\/)?(?:[^@/\s]+@)([^:/\s]+)[:/](?!\/)(.+)$/.exec(remote);
  if (ssh !== null) return `git+ssh://${ssh[1]}/${ssh[2]}`;
  if (!URL.canParse(remote)) return undefined;
  const url = new URL(remote);
  if (url.protocol !== "https:" && url.protocol !== "http:") return undefined;
  return `git+${url.protocol}//${url.host}${url.pathname}`;
}
