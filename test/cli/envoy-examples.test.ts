/** Examples for users of Envoy and Istio, compared with what the program prints and expects. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { parse } from "yaml";
import { envoyBootstrap } from "../../src/cli/dev/envoy-bootstrap.ts";
import { filterSettings } from "../../src/server/inspector/index.ts";
import { EXAMPLES, istioFilter } from "../e2e/inspector/support/istio-filter.ts";

test("examples/envoy/envoy.yaml equals the output of `gateway dev -inspector`, except for addresses", async () => {
  const node = parse(await readFile(`${EXAMPLES}envoy/node.yaml`, "utf8")) as {
    readonly extproc: { readonly inspect_listen: string; readonly request_body_mode: "streamed" };
  };
  const { inspect_listen: inspector, ...modes } = node.extproc;
  const printed = envoyBootstrap({
    ...{ listen: "127.0.0.1:10000", admin: "127.0.0.1:9901", inspector, upstream: "127.0.0.1:8485" },
    modes: { ...modes, inspect_responses: "" },
  });
  assert.equal(await readFile(`${EXAMPLES}envoy/envoy.yaml`, "utf8"), printed);
});

test("the filter of examples/istio has the settings that its node expects", async () => {
  const node = parse(await readFile(`${EXAMPLES}istio/node.yaml`, "utf8")) as {
    readonly extproc: { readonly request_body_mode: "duplex" };
  };
  const { processing_mode: mode } = filterSettings({ ...node.extproc, inspect_responses: "" });
  const { typed_config: filter } = await istioFilter();
  assert.deepEqual(filter["processing_mode"], mode);
  assert.equal(filter["failure_mode_allow"], false);
});
