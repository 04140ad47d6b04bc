/** Messages to and from a scanning thread. It gets one task at a time. */
import type { DetectorConfig } from "../../../core/config/index.ts";
import type { PackedDetection } from "./packed.ts";

export type ToScanner =
  /** `scan` is the name from now on. The configuration compiles, as it did when it was loaded. */
  | { readonly kind: "compile"; readonly scan: string; readonly config: DetectorConfig; readonly usesContext: boolean }
  | { readonly kind: "forget"; readonly scan: string }
  | { readonly kind: "scan"; readonly scan: string; readonly texts: readonly string[] };

/** One answer to each `scan`. An error's text is not sent: it could contain scanned text. */
export type FromScanner =
  | { readonly kind: "found"; readonly packed: PackedDetection }
  /** More findings than `MOST_RAW_FINDINGS`. */
  | { readonly kind: "excess" }
  | { readonly kind: "failed"; readonly error: string };
