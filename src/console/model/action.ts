/**
 * Change that the console makes to a gateway: one operation of the admin API with its input, the same object that the commands
 * and the typed client take. The request preview, the equivalent command line and the call are derived from it.
 */

import {
  type AdminClient,
  BASE_PATH,
  type CallInput,
  type CallOptions,
  OPERATIONS,
  type Operation,
  type OperationAnswer,
  type OperationId,
} from "../../admin-api/index.ts";

export interface Outcome {
  /** Message for the flash line; it describes the new state. */
  readonly message: string;
  /** Text of a key. Shown once in the dialog, forgotten when it closes, and shown nowhere else. */
  readonly secret?: string;
}

export interface Action {
  readonly operation: OperationId;
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly body?: unknown;
    /** Revision that is replaced. */
    readonly ifMatch?: number;
  };
  /** Calls the operation once. Rejects with `AdminError`. */
  run(client: AdminClient, options: CallOptions & { readonly idempotencyKey: string }): Promise<Outcome>;
}

/**
 * Encodes a text as a segment of a URL path. Replaces lone surrogates, which a name may contain, because encoding them would
 * throw while a frame is drawn.
 */
export const encoded = (text: string): string => encodeURIComponent(text.replace(/\p{Cs}/gu, "\ufffd"));

export function actionOf<Id extends OperationId>(
  operation: Id,
  input: CallInput<Id>,
  outcome: (answer: OperationAnswer<Id>) => Outcome,
): Action {
  const { method, path }: Operation = OPERATIONS[operation];
  const {
    params = {},
    query = {},
    body,
    ifMatch,
  } = input as {
    readonly ifMatch?: number;
    readonly params?: Readonly<Record<string, unknown>>;
    readonly query?: Readonly<Record<string, unknown>>;
    readonly body?: unknown;
  };
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encoded(String(params[name])));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.append(name, String(value));
  return {
    operation,
    request: {
      method,
      path: `${BASE_PATH}${filled}${search.size === 0 ? "" : `?${search}`}`,
      ...(body !== undefined && { body }),
      ...(ifMatch !== undefined && { ifMatch }),
    },
    async run(client, { idempotencyKey, ...options }) {
      const call = client.call as (id: Id, input: CallInput<Id>, options: CallOptions) => Promise<OperationAnswer<Id>>;
      return outcome(await call(operation, { ...input, idempotencyKey }, options));
    },
  };
}
