/** What is said to a thread that scans, and what it says. It is given one task at a time. */
import type { DetectorConfig } from "../../../core/config/index.ts";
import type { PackedDetection } from "./packed.ts";

export type ToScanner =
  /** `scan`: its name from now on. The configuration compiles, as it did where it was loaded. */
  | { readonly kind: "compile"; readonly scan: string; readonly config: DetectorConfig; readonly usesContext: boolean }
  | { readonly kind: "forget"; readonly scan: string }
  | { readonly kind: "scan"; readonly scan: string; readonly texts: readonly string[] };

/** To each `scan` one answer. An error's text is not told: it could hold what was scanned. */
export type FromScanner =
  | { readonly kind: "found"; readonly packed: PackedDetection }
  /** More than `MOST_RAW_FINDINGS`. */
  | { readonly kind: "excess" }
  | { readonly kind: "failed"; readonly error: string };
