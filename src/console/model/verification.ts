/** Verification of an exported audit trail; there is at most one, the newest. */

import type { Report } from "./ports.ts";

export interface Verification {
  readonly file: string;
  readonly state: /** `message` describes the progress. */
    | { readonly kind: "running"; readonly message: string }
    | { readonly kind: "failed"; readonly message: string }
    | { readonly kind: "done"; readonly report: Report };
}
