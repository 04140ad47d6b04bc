/** The face of a node's configuration. */
import type { Instruments, Log } from "../../base/index.ts";
import type { Cluster, WriteOptions } from "../cluster/index.ts";
import type { NodeFile, Problem, Source } from "../core/config/index.ts";
import type { SourceRow } from "../core/state/index.ts";
import type { ModelSupply } from "../models/index.ts";
import type { SealedSecrets } from "../secrets/index.ts";
import type { AskSession, CallModel, Snapshot } from "../snapshot/index.ts";
import type { FileOutcome } from "./deployment-file.ts";
import type { FileText } from "./files.ts";
import type { NodeDocuments } from "./load.ts";
import type { CompiledSources, FileStatus } from "./sources.ts";
import type { CrossingInputs, Elsewhere } from "./worker/index.ts";

export interface ConfigurationOptions {
  /** Sound. */
  readonly documents: NodeDocuments;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cluster: Cluster;
  /** `undefined` without a cluster secret. */
  readonly sealed: SealedSecrets | undefined;
  readonly models: ModelSupply;
  readonly instruments: Instruments;
  readonly log: Log;
  readonly callModel?: CallModel;
  /** Others inspect what flows: detectors are made ready here when they are needed. */
  readonly isSpare?: boolean;
  /** Other processes that must accept a configuration before it takes effect here; one that they cannot use is refused. */
  readonly elsewhere?: Elsewhere | undefined;
  readonly signal: AbortSignal;
  onSnapshot(snapshot: Snapshot): void;
  /** The node file was read again, and is sound. */
  onNodeFile(nodeFile: NodeFile): void;
}

/** Reason why nothing is served, if only an operator can change it. */
export type Standstill = { readonly kind: "refused"; readonly problems: readonly string[] };

export interface Configuration {
  /** Returns the running configuration; `undefined` before the first. */
  running(): CompiledSources | undefined;
  /** Revision of each source that runs. */
  served(): ReadonlyMap<string, number>;
  /** Problems of the newest configuration where it does not compile here. */
  refusal(): readonly Problem[] | undefined;
  stored(): readonly SourceRow[];
  textOf(name: string, revision: number): string | undefined;
  /** Compiles sources with this node's environment, secrets and overlays. */
  compile(sources: readonly Source[]): Promise<CompiledSources>;
  /** The same, with what it is compiled from, for another thread or process. Models are not loaded. */
  crossing(sources: readonly Source[]): Promise<CompiledSources & { readonly inputs: CrossingInputs }>;
  /** Resolves once everything that changed before the call was compiled. */
  settled(): Promise<void>;
  onChange(listener: () => void): () => void;
  fileStatus(): FileStatus;
  /** Returns the absolute path of the deployment document, if there is one. */
  documentPath(): string | undefined;
  /** The deployment document, read again; undefined where the node file names none. */
  readDocument(): Promise<FileText | undefined>;
  /** The document on disk, to the whole cluster, unless it is behind. */
  applyFile(write: WriteOptions): Promise<FileOutcome>;
  /** Reads the node file again, then handles its document as the table of states says; logs what is refused. */
  reload(): Promise<void>;
  /**
   * Starts with what is stored, and carries the document on disk to the cluster. Resolves once that is decided, with a
   * standstill where nothing is served then and nothing that may come would change it.
   */
  begin(): Promise<Standstill | undefined>;
  /** Runs the models loaded in this process for other processes of the node. */
  readonly askSession: AskSession;
  close(): void;
}
