/** Error of a request to the cluster, with a stable code and a message that says what to do. */

export type ClusterErrorCode =
  /** No leader exists, or it was lost midway; `details.outcome` is `unknown` if the request may still take effect. */
  | "no_leader"
  /** Too many requests are running; ask again. */
  | "busy"
  | "disk_low"
  | "entry_too_large"
  /** The request contradicts the current state. */
  | "conflict"
  | "invalid"
  | "not_found"
  /** The archive cannot be restored here. */
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

/** Rebuilds a failure that another thread or node reported; an unknown code of a newer version becomes `refused`. */
export function clusterErrorOf(failure: {
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}): ClusterError {
  const code = CODES.has(failure.code) ? (failure.code as ClusterErrorCode) : "refused";
  return new ClusterError(code, failure.message, failure.details === undefined ? {} : { details: failure.details });
}
