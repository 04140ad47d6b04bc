/** The contract suites of the ports, over their in-memory implementations. */

import { backendsContract } from "./support/backends-contract.ts";
import { governedContract } from "./support/governed-contract.ts";
import { createMemoryBackends, FAILED } from "./support/memory-backends.ts";
import { createMemoryGoverned } from "./support/memory-governed.ts";
import { createMemorySecrets } from "./support/memory-secrets.ts";
import { createMemorySources } from "./support/memory-sources.ts";
import { NOW } from "./support/open-admin.ts";
import { secretsContract } from "./support/secrets-contract.ts";
import { sourcesContract } from "./support/sources-contract.ts";

sourcesContract("sources in memory", async () => ({
  sources: createMemorySources(() => NOW).sources,
  documents: { sound: "a: 1\n", other: "a: 2\n", broken: "a: refused\n" },
}));

secretsContract("secrets in memory", async () => createMemorySecrets(() => NOW));

backendsContract("backends in memory", () => {
  const { backends, configure, fail } = createMemoryBackends();
  const time = new Date(NOW).toISOString();
  return {
    backends,
    configure,
    fail: (name) => fail(name, { ...FAILED, time, status: 503, kind: "5xx", attempt: 1, moved_to: null }),
  };
});

governedContract("governance in memory", createMemoryGoverned);
