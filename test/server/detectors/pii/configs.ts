/** A detector's configuration from a document, with the settings under test. */

import type { DetectorConfig } from "../../../../src/server/core/config/index.ts";

export function configOf(keys: Partial<DetectorConfig>): DetectorConfig {
  const common = { type: "pii", mode: "inline", schedule: "sync", role: "discover", on_error: "fail_open" } as const;
  return { ...common, prefilter: "pure", ...keys };
}
