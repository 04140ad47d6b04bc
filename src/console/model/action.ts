/**
 * What the console does to a gateway: one operation of the admin API with its input, the same object that the verbs and
 * the typed client take. From it follow the request that is shown, the command line that does the same, and the call.
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
  /** For the flash line: what is so now. */
  readonly words: string;
  /** Shown in the dialog once and forgotten when it closes: the text of a key. Never anywhere else. */
  readonly secret?: string;
}

export interface Action {
  readonly operation: OperationId;
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly body?: unknown;
    /** Revision that is to be replaced. */
    readonly ifMatch?: number;
  };
  /** Calls it once; rejects with `AdminError`. */
  run(client: AdminClient, options: CallOptions & { readonly idempotencyKey: string }): Promise<Outcome>;
}

/** As part of a path. Half of a surrogate pair, which a name may hold, has no encoding; no drawing may fail of it. */
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
