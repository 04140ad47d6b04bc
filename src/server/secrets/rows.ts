/** The replicated rows of sealed secrets, `secret/<name>` and `ring/<id>`. Source: cluster reference, section 8. */

import { type RingRow, readRing, readSecret, ringRowKey, type SecretRow, secretRowKey } from "../core/state/index.ts";

export type { RingRow, SecretRow };

export type Wrap = RingRow["wraps"][number];

/** What is read of the replicated state; the view of the cluster is one. */
export interface SealedView {
  get(key: string): string | undefined;
  scan(prefix: string): Iterable<readonly [key: string, value: string]>;
}

export function secretRow(view: SealedView, name: string): SecretRow | undefined {
  const text = view.get(secretRowKey(name));
  return text === undefined ? undefined : readSecret(text);
}

export const secretRows = (view: SealedView): readonly SecretRow[] =>
  Array.from(view.scan(secretRowKey("")), ([, text]) => readSecret(text));

export function ringRow(view: SealedView, id: string): RingRow | undefined {
  const text = view.get(ringRowKey(id));
  return text === undefined ? undefined : readRing(text);
}

export const ringRows = (view: SealedView): readonly RingRow[] =>
  Array.from(view.scan(ringRowKey("")), ([, text]) => readRing(text));

/** Undefined where the text is no row of the ring: it may come from an archive. */
export function parsedRing(text: string): RingRow | undefined {
  try {
    return readRing(text);
  } catch {
    return undefined;
  }
}
