/**
 * Replicated rows of sealed values (`secret/<name>`, `cert/<id>`, `acme/<id>`) and of data keys (`ring/<id>`). Source: cluster
 * reference, section 8.
 */

import {
  acmeRowKey,
  certificateRowKey,
  commands,
  type NamedCommand,
  type RingRow,
  readAcme,
  readCertificate,
  readRing,
  readSecret,
  ringRowKey,
  type Sealed,
  secretRowKey,
} from "../core/state/index.ts";
import type { SealedKind } from "./seal.ts";

export type { RingRow };

/** Sealed value of any table. */
export interface SealedValue {
  readonly k: SealedKind;
  readonly name: string;
  readonly ver: number;
  readonly sealed: Sealed;
  /** Version that the same value has after it was resealed. */
  readonly resealedAs: number;
  /** Returns the command that replaces this value by the resealed one, for `resealedAs`. */
  reseal(sealed: Sealed): NamedCommand;
}

const TABLES: Readonly<
  Record<SealedKind, { readonly key: (name: string) => string; readonly read: (text: string) => SealedValue }>
> = {
  secret: {
    key: secretRowKey,
    read(text) {
      const { name, ver, dk, n, ct } = readSecret(text);
      const reseal = (sealed: Sealed) => commands.secretReseal({ name, ver, sealed });
      return { k: "secret", name, ver, sealed: { dk, n, ct }, resealedAs: ver, reseal };
    },
  },
  cert: {
    key: certificateRowKey,
    read(text) {
      const { id, names, not_after, ver, sealed } = readCertificate(text);
      const reseal = (resealed: Sealed) => commands.certPut({ id, names, not_after, expect: ver, sealed: resealed });
      return { k: "cert", name: id, ver, sealed, resealedAs: ver + 1, reseal };
    },
  },
  acme: {
    key: acmeRowKey,
    read(text) {
      const { id, ver, sealed } = readAcme(text);
      const reseal = (resealed: Sealed) => commands.acmePut({ id, expect: ver, sealed: resealed });
      return { k: "acme", name: id, ver, sealed, resealedAs: ver + 1, reseal };
    },
  },
};

export function findSealedValue(view: SealedView, kind: SealedKind, name: string): SealedValue | undefined {
  const text = view.get(TABLES[kind].key(name));
  return text === undefined ? undefined : TABLES[kind].read(text);
}

/** Returns the sealed rows of all tables. */
export const allSealedValues = (view: SealedView): readonly SealedValue[] =>
  Object.values(TABLES).flatMap(({ key, read }) => Array.from(view.scan(key("")), ([, text]) => read(text)));

export type Wrap = RingRow["wraps"][number];

/** Read access to the replicated state; the cluster's view provides it. */
export interface SealedView {
  get(key: string): string | undefined;
  scan(prefix: string): Iterable<readonly [key: string, value: string]>;
}

export function ringRow(view: SealedView, id: string): RingRow | undefined {
  const text = view.get(ringRowKey(id));
  return text === undefined ? undefined : readRing(text);
}

export const ringRows = (view: SealedView): readonly RingRow[] =>
  Array.from(view.scan(ringRowKey("")), ([, text]) => readRing(text));

/** Parses a row of the key ring; `undefined` if the text is none, since it may come from an archive. */
export function parseRing(text: string): RingRow | undefined {
  try {
    return readRing(text);
  } catch {
    return undefined;
  }
}
