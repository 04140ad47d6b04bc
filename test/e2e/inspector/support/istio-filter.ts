/** The filter of examples/istio. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";

export interface HttpFilter {
  typed_config: Readonly<Record<string, unknown>>;
}

export const EXAMPLES = fileURLToPath(new URL("../../../../examples/", import.meta.url));

export async function istioFilter(): Promise<HttpFilter> {
  const document = parse(await readFile(`${EXAMPLES}istio/envoy-filter.yaml`, "utf8")) as {
    readonly spec: { readonly configPatches: readonly { readonly patch: { readonly value: HttpFilter } }[] };
  };
  const [patch] = document.spec.configPatches;
  assert.ok(patch !== undefined);
  return patch.patch.value;
}
