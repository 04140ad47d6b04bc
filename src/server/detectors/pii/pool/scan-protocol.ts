/** Messages to and from a scanning thread, which gets one task at a time. */
import type { DetectorConfig } from "../../../core/config/index.ts";
import type { PackedDetection } from "./packed.ts";

export type ToScanner =
  /** Compiles the recognizers under the name `scan`. The configuration is valid, since it compiled when it was loaded. */
  | { readonly kind: "compile"; readonly scan: string; readonly config: DetectorConfig; readonly usesContext: boolean }
  | { readonly kind: "forget"; readonly scan: string }
  | { readonly kind: "scan"; readonly scan: string; readonly texts: readonly string[] };

/** Answer to a `scan`. An error's text is not sent, since it could contain scanned text. */
export type FromScanner =
  | { readonly kind: "found"; readonly packed: PackedDetection }
  /** There are more findings than `MAX_RAW_FINDINGS`. */
  | { readonly kind: "excess" }
  | { readonly kind: "failed"; readonly error: string };
