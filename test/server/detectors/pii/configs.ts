/** A detector's configuration as the document gives it, with what a test is about. */

import type { DetectorConfig } from "../../../../src/server/core/config/index.ts";

export function configOf(keys: Partial<DetectorConfig>): DetectorConfig {
  const common = { type: "pii", mode: "inline", schedule: "sync", role: "discover", on_error: "fail_open" } as const;
  return { ...common, prefilter: "pure", ...keys };
}
