/**
 * Model artifacts as the rest of the server sees them: declared, resolved to files with digests, and lying in the cache as
 * a folder that can be opened. Source: specification document 3, `models`; design decisions, section 12. Sizes are in bytes.
 */
import type { Deployment } from "../core/config/index.ts";

/** An entry of `models.models[]`, its references resolved. */
export type ModelDeclaration = NonNullable<Deployment["models"]>["models"][number];

/** `whole`: graph with its data, tokenizer and configuration. `text`: without the graph, which a server runs. */
export type ModelParts = "whole" | "text";

export const FILE_ROLES = ["graph", "external_data", "tokenizer", "config", "special_tokens_map"] as const;

export type FileRole = (typeof FILE_ROLES)[number];

/** Lower-case hexadecimal. `git_blob`: SHA-1 over `blob <size>\0` and the content, which hubs keep for small files. */
export type Digest =
  | { readonly kind: "sha256"; readonly hex: string }
  | { readonly kind: "git_blob"; readonly hex: string };

export interface ManifestFile {
  readonly role: FileRole;
  /** Within the view: relative, with `/`, and no step out of it. */
  readonly path: string;
  readonly digest: Digest;
  /** Exact. */
  readonly size: number;
  readonly url: string;
}

/** Files of a model declaration. Immutable: for a hub it names one commit. */
export interface Manifest {
  /** `name` of the declaration. */
  readonly model: string;
  readonly parts: ModelParts;
  readonly files: readonly ManifestFile[];
  /** Files that the graph may turn out to need; those it names are among `files` once it has been read. */
  readonly candidates: readonly ManifestFile[];
  /** `undefined` for listed files. */
  readonly hub: { readonly endpoint: string; readonly repo: string; readonly commit: string } | undefined;
}

/** A model in the cache: verified, complete, by paths that can be opened. They are read-only, and shared. */
export interface ModelView {
  /** Hex SHA-256 over paths and digests: the same for the same bytes under the same names, whatever the model is called. */
  readonly id: string;
  /** Absolute. */
  readonly directory: string;
  /** Absolute; undefined with `parts: "text"`. Its external data lie where it names them. */
  readonly graph: string | undefined;
  /** Absolute; undefined where the model has none. */
  readonly tokenizer: string | undefined;
  /** `config.json` of the model: labels, `problem_type`, `pad_token_id`. Absolute; undefined where it has none. */
  readonly config: string | undefined;
  /** Total of all files. */
  readonly size: number;
}

export interface Progress {
  /** On disk, or passed from there, of `total`. */
  readonly done: number;
  readonly total: number;
}

export interface EnsureOptions {
  readonly signal: AbortSignal;
  /** Called for each piece that arrives. */
  readonly onProgress?: (progress: Progress) => void;
}

/** Rejects with `ModelError`, or with the signal's reason. */
export interface ModelStore {
  /** Resolves from the cache if possible, and listed files without the network. Writes nothing. */
  resolve(model: ModelDeclaration, parts: ModelParts, signal: AbortSignal): Promise<Manifest>;
  /** Same as `resolve`, but returns `undefined` if the network would be needed. */
  known(model: ModelDeclaration, parts: ModelParts): Promise<Manifest | undefined>;
  /**
   * Returns `undefined` if a file is missing or damaged. Uses no network. `remembers`: stores verified digests in the cache, so
   * that files need not be read again; without it nothing is written.
   */
  cached(manifest: Manifest, options?: { readonly remembers: boolean }): Promise<ModelView | undefined>;
  /** Downloads what is not in the cache, verifies, and lays the view out. */
  ensure(manifest: Manifest, options: EnsureOptions): Promise<ModelView>;
}
