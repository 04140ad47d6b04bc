/**
 * Types of models: declarations, manifests with digests, and views in the cache. Source: specification document 3,
 * `models`; design decisions, section 12. Sizes are in bytes.
 */
import type { Deployment } from "../core/config/index.ts";

/** Entry of `models.models[]` with resolved references. */
export type ModelDeclaration = NonNullable<Deployment["models"]>["models"][number];

/**
 * Files of a model that are needed. `whole`: graph with its data, tokenizer and configuration. `text`: without the
 * graph, which a server runs.
 */
export type ModelParts = "whole" | "text";

export const FILE_ROLES = ["graph", "external_data", "tokenizer", "config", "special_tokens_map"] as const;

export type FileRole = (typeof FILE_ROLES)[number];

/**
 * Digest in lower-case hexadecimal. `git_blob`: SHA-1 over `blob <size>\0` and the content, which hubs list for small
 * files.
 */
export type Digest =
  | { readonly kind: "sha256"; readonly hex: string }
  | { readonly kind: "git_blob"; readonly hex: string };

export interface ManifestFile {
  readonly role: FileRole;
  /** Path within the view: relative, with `/`, without `..`. */
  readonly path: string;
  readonly digest: Digest;
  /** Size in bytes, which the content must have exactly. */
  readonly size: number;
  readonly url: string;
}

/** Files of a model declaration. Immutable: for a hub it names one commit. */
export interface Manifest {
  /** Name of the declaration. */
  readonly model: string;
  readonly parts: ModelParts;
  readonly files: readonly ManifestFile[];
  /** Files that the graph may need. Once it has been read, the ones that it names are moved to `files`. */
  readonly candidates: readonly ManifestFile[];
  /** Hub source; `undefined` if the declaration lists its files. */
  readonly hub: { readonly endpoint: string; readonly repo: string; readonly commit: string } | undefined;
}

/** Verified and complete model in the cache. Its files are read-only and shared. */
export interface ModelView {
  /** Hex SHA-256 over paths and digests, independent of the model's name. */
  readonly id: string;
  /** Absolute path of the folder. */
  readonly directory: string;
  /** Absolute path of the graph; `undefined` with `parts: "text"`. Its external data are at the paths that it names. */
  readonly graph: string | undefined;
  /** Absolute path of the tokenizer; `undefined` if the model has none. */
  readonly tokenizer: string | undefined;
  /** Absolute path of the model's `config.json` (labels, `problem_type`, `pad_token_id`); `undefined` if it has none. */
  readonly config: string | undefined;
  /** Total of all files. */
  readonly size: number;
}

export interface Progress {
  /** Bytes of `total` that are in the cache or were downloaded. */
  readonly done: number;
  readonly total: number;
}

export interface EnsureOptions {
  readonly signal: AbortSignal;
  /** Called for each piece that arrives. */
  readonly onProgress?: (progress: Progress) => void;
}

/** Store of models. Its methods reject with `ModelError`, or with the signal's reason. */
export interface ModelStore {
  /** Resolves a declaration from the cache if possible, and listed files without the network. Writes nothing. */
  resolve(model: ModelDeclaration, parts: ModelParts, signal: AbortSignal): Promise<Manifest>;
  /** Same as `resolve`, but returns `undefined` if the network would be needed. */
  known(model: ModelDeclaration, parts: ModelParts): Promise<Manifest | undefined>;
  /**
   * Returns the view of a manifest, or `undefined` if a file is missing or damaged. Uses no network. `remembers`:
   * stores verified digests in the cache, so that files need not be read again; without it nothing is written.
   */
  cached(manifest: Manifest, options?: { readonly remembers: boolean }): Promise<ModelView | undefined>;
  /** Downloads and verifies what is not in the cache, and creates the view. */
  ensure(manifest: Manifest, options: EnsureOptions): Promise<ModelView>;
}
