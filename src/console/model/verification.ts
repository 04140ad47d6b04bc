/** How the check of an exported audit trail stands; there is at most one, the newest that was asked for. */

import type { Report } from "./ports.ts";

export interface Verification {
  readonly file: string;
  readonly state: /** `words`: how far it is. */
    | { readonly kind: "running"; readonly words: string }
    | { readonly kind: "failed"; readonly words: string }
    | { readonly kind: "done"; readonly report: Report };
}
