/** Facts about detectors and the document that are needed to compile the policy. */

import type { Deployment, Path, Severity } from "../config/index.ts";
import type { GuardrailPolicy } from "./judgement.ts";
import type { IssuedValues } from "./recently-encrypted-values.ts";
import type { SegmentKind } from "./types.ts";
import type { FormatOf } from "./value-format.ts";

/** Member `guardrails` of a document. */
export type Guardrails = NonNullable<Deployment["guardrails"]>;

export type GuardrailRule = Guardrails["rules"][number];

export interface DetectorFacts {
  readonly name: string;
  /** Type in the document: `pii`, `llm`, … */
  readonly type: string;
  /** Kinds in `apply_to`, or its default. */
  readonly kinds: readonly SegmentKind[];
  readonly mode: "inline" | "shadow";
  /** Schedule of the detector for requests. */
  readonly schedule: "sync" | "overlap" | "async";
  /** All types `<category>/<LABEL>` that the detector can report; `undefined` if they are unknown. */
  readonly findingTypes: readonly string[] | undefined;
  /** True if its findings in streams have a bounded reach: `horizon` of `Detector`. */
  readonly hasHorizon: boolean;
}

export interface PolicyFacts {
  /** Detectors in document order. */
  readonly detectors: readonly DetectorFacts[];
  /** Profiles with their detectors; `undefined` means all detectors, an empty list none. */
  readonly profiles: readonly { readonly name: string; readonly detectors: readonly string[] | undefined }[];
  /** Formats of types; absent if the format of no type is known. */
  readonly formatOf?: FormatOf | undefined;
  /** Memory of values that `fpe` wrote; absent if they are not remembered. */
  readonly issued?: IssuedValues | undefined;
}

export interface GuardrailProblem {
  readonly severity: Severity;
  /** Path from the document's root: `["guardrails", "rules", 0, "when"]`. */
  readonly path: Path;
  readonly message: string;
}

/** Result of `compilePolicy(guardrails, facts)` in `guardrails/policy`. */
export interface CompiledPolicy {
  /** Returns the policy of a profile; an unknown profile is treated like `undefined`. Use it only if no problem is an error. */
  readonly of: (profile: string | undefined) => GuardrailPolicy;
  readonly problems: readonly GuardrailProblem[];
}
