/** Interface of a node's configuration. */
import type { Instruments, Log } from "../../../base/index.ts";
import type { Cluster, WriteOptions } from "../../cluster/index.ts";
import type { NodeFile, Problem, Source } from "../../core/config/index.ts";
import type { SourceRow } from "../../core/state/index.ts";
import type { ModelSupply } from "../../models/index.ts";
import type { SealedSecrets } from "../../secrets/index.ts";
import type { AskSession, CallModel, Snapshot } from "../../snapshot/index.ts";
import type { OtherProcesses, TransferredInputs } from "../worker/index.ts";
import type { CompiledSources, FileStatus } from "./compile-sources.ts";
import type { FileOutcome } from "./deployment-file.ts";
import type { NodeDocuments } from "./load-documents.ts";
import type { FileText } from "./read-configuration-files.ts";

export interface ConfigurationOptions {
  /** Documents without errors. */
  readonly documents: NodeDocuments;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cluster: Cluster;
  /** Sealed secrets of the cluster; `undefined` without a cluster secret. */
  readonly sealed: SealedSecrets | undefined;
  readonly models: ModelSupply;
  readonly instruments: Instruments;
  readonly log: Log;
  readonly callModel?: CallModel;
  /** True if other processes inspect the traffic: detectors are prepared here only when needed. */
  readonly preparesDetectorsLazily?: boolean;
  /** Other processes that must accept a configuration before it takes effect here; one that they cannot use is refused. */
  readonly otherProcesses?: OtherProcesses | undefined;
  readonly signal: AbortSignal;
  onSnapshot(snapshot: Snapshot): void;
  /** Called when the node file was read again and is valid. */
  onNodeFile(nodeFile: NodeFile): void;
}

/** Reason why nothing is served, if only an operator can change it. */
export type StartFailure = { readonly kind: "refused"; readonly problems: readonly string[] };

export interface Configuration {
  /** Returns the running configuration; `undefined` before the first. */
  running(): CompiledSources | undefined;
  /** Returns the revision of each running source. */
  servedRevisions(): ReadonlyMap<string, number>;
  /** Returns the problems of the newest configuration if it does not compile here. */
  refusal(): readonly Problem[] | undefined;
  stored(): readonly SourceRow[];
  textOf(name: string, revision: number): string | undefined;
  /** Compiles sources with this node's environment, secrets and overlays. */
  compile(sources: readonly Source[]): Promise<CompiledSources>;
  /** Like `compile`, but also returns the inputs, for another thread or process. Models are not loaded. */
  compileForTransfer(sources: readonly Source[]): Promise<CompiledSources & { readonly inputs: TransferredInputs }>;
  /** Resolves once everything that changed before the call was compiled. */
  whenRebuilt(): Promise<void>;
  onChange(listener: () => void): () => void;
  fileStatus(): FileStatus;
  /** Returns the absolute path of the deployment document, if there is one. */
  documentPath(): string | undefined;
  /** Reads the deployment document again; `undefined` if the node file names none. */
  readDocument(): Promise<FileText | undefined>;
  /** Applies the document on disk to the whole cluster, unless it is older. */
  applyFile(write: WriteOptions): Promise<FileOutcome>;
  /** Reads the node file again, then handles its document by the table of states. Refusals are logged. */
  reload(): Promise<void>;
  /**
   * Starts with the stored configuration, and applies the document on disk to the cluster. Resolves once that is decided, with a
   * standstill if nothing is served and no expected change can help.
   */
  begin(): Promise<StartFailure | undefined>;
  /** Runs the models loaded in this process for other processes of the node. */
  readonly askSession: AskSession;
  close(): void;
}
