import assert from "node:assert/strict";
import { test } from "node:test";
import { installLine } from "../../src/base/index.ts";

const wanted = "re2@1.24.0";

const PLACES: readonly (readonly [root: string, node: string, line: string])[] = [
  ["/usr/local/lib/node_modules/gateway", "/usr/local/bin/node", "npm install -g re2@1.24.0"],
  ["/opt/gw/lib/node_modules/gateway", "/usr/bin/node", "npm install -g --prefix /opt/gw re2@1.24.0"],
  ["/srv/app/node_modules/gateway", "/usr/bin/node", "npm install --prefix /srv/app re2@1.24.0"],
  ["/src/gateway", "/usr/bin/node", "npm install --no-save re2@1.24.0"],
];

for (const [root, node, line] of PLACES) {
  test(`a program in ${root} is told: ${line}`, () => {
    assert.equal(installLine({ wanted }, { root, node }), line);
  });
}

test("the scripts of a package that needs none are left out, and a clone finds itself", () => {
  assert.equal(installLine({ wanted, withoutScripts: true }), "npm install --no-save --ignore-scripts re2@1.24.0");
});
