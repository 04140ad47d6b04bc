/** What a request to the cluster ends with when it is not done: a stable code, and a sentence that says what to do. */

export type ClusterErrorCode =
  /** Nobody leads, or the leader was lost midway; `details.outcome` is `unknown` where it may yet be done. */
  | "no_leader"
  /** Too much is under way; ask again. */
  | "busy"
  | "disk_low"
  | "entry_too_large"
  /** What is asked contradicts what is. */
  | "conflict"
  | "invalid"
  | "not_found"
  /** An archive that cannot be restored here. */
  | "refused"
  /** This node was removed from the cluster. */
  | "removed";

export class ClusterError extends Error {
  readonly code: ClusterErrorCode;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(
    code: ClusterErrorCode,
    message: string,
    options: ErrorOptions & { readonly details?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message, options);
    this.name = "ClusterError";
    this.code = code;
    this.details = options.details;
  }
}

const CODES: ReadonlySet<string> = new Set<ClusterErrorCode>([
  "no_leader",
  "busy",
  "disk_low",
  "entry_too_large",
  "conflict",
  "invalid",
  "not_found",
  "refused",
  "removed",
]);

/** A failure told by another thread or node; an unknown code of a newer one is kept as `refused`. */
export function clusterErrorOf(failure: {
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}): ClusterError {
  const code = CODES.has(failure.code) ? (failure.code as ClusterErrorCode) : "refused";
  return new ClusterError(code, failure.message, failure.details === undefined ? {} : { details: failure.details });
}
