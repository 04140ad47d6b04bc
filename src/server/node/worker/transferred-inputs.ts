/**
 * Inputs of a configuration's compile, as sent to another process: the compile there is the same function of the same values,
 * secrets included, so its result is the same.
 */
import type { NamedOverlay } from "../../core/catalog/index.ts";
import type { Source } from "../../core/config/index.ts";
import type { Secrets } from "../../secrets/index.ts";
import type { TrustedSettings } from "../../snapshot/index.ts";
import type { SourcesInput } from "../configuration/compile-sources.ts";
import type { Views } from "../model-cache.ts";

type Lookup = ReturnType<Secrets["secret"]>;
type Rows<Value> = readonly (readonly [name: string, value: Value])[];

/** Inputs in the form in which they are sent, as JSON. They contain secrets and must never be logged. */
export interface TransferredInputs {
  readonly sources: readonly Source[];
  readonly ofNodeFile: readonly string[];
  readonly secrets: Rows<Lookup>;
  readonly files: Rows<Lookup>;
  readonly overlays: readonly NamedOverlay[];
  readonly limitRev: number;
  readonly hasReconciled: boolean;
  readonly trusted:
    | (Omit<TrustedSettings, "adminAudiences"> & { readonly adminAudiences: Rows<readonly string[]> })
    | undefined;
  readonly models: Rows<NonNullable<ReturnType<Views["get"]>>>;
  readonly storedAt: Rows<number | undefined>;
}

/** Secrets that record the lookups, whose results are then sent. */
interface RecordedSecrets extends Pick<Secrets, "secret" | "file"> {
  readonly secrets: ReadonlyMap<string, Lookup>;
  readonly files: ReadonlyMap<string, Lookup>;
}

export function recordLookups(from: Pick<Secrets, "secret" | "file">): RecordedSecrets {
  const secrets = new Map<string, Lookup>();
  const files = new Map<string, Lookup>();
  const recordInto =
    (known: Map<string, Lookup>, lookUp: (name: string) => Lookup) =>
    (name: string): Lookup => {
      const found = known.get(name) ?? lookUp(name);
      known.set(name, found);
      return found;
    };
  return { secrets, files, secret: recordInto(secrets, from.secret), file: recordInto(files, from.file) };
}

/** Returns the inputs to send. Call it after the compile: it includes only the secrets and files that were looked up. */
export function toTransferredInputs(input: SourcesInput, { secrets, files }: RecordedSecrets): TransferredInputs {
  const { sources, ofNodeFile, fileOverlays, limitRev = 0, hasReconciled = false, trusted, models, storedAt } = input;
  return {
    sources,
    ofNodeFile: [...(ofNodeFile ?? [])],
    secrets: [...secrets],
    files: [...files],
    overlays: fileOverlays,
    limitRev,
    hasReconciled,
    trusted: trusted && {
      ...trusted,
      adminAudiences: Array.from(trusted.adminAudiences, ([name, them]) => [name, [...them]] as const),
    },
    models: [...(models ?? [])],
    storedAt: sources.map(({ name }) => [name, storedAt?.(name)] as const),
  };
}

/** Restores the inputs, as the inverse of `toTransferredInputs`. The compiling process loads `rules` and `guardrails` itself. */
export function fromTransferredInputs(from: TransferredInputs): Omit<SourcesInput, "env" | "rules" | "guardrails"> {
  const { trusted } = from;
  const storedAt = new Map(from.storedAt);
  const lookUp = (rows: Rows<Lookup>) => {
    const known = new Map(rows);
    return (name: string): Lookup =>
      known.get(name) ?? { kind: "problem", message: "not looked up before", missing: true };
  };
  return {
    sources: from.sources,
    ofNodeFile: new Set(from.ofNodeFile),
    secrets: { secret: lookUp(from.secrets), file: lookUp(from.files) },
    fileOverlays: from.overlays,
    limitRev: from.limitRev,
    hasReconciled: from.hasReconciled,
    trusted: trusted && {
      ...trusted,
      adminAudiences: new Map(trusted.adminAudiences.map(([name, them]) => [name, new Set(them)])),
    },
    models: new Map(from.models),
    storedAt: (source) => storedAt.get(source) ?? undefined,
  };
}
