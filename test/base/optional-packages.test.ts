import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { installCommand, OPTIONAL_PACKAGES } from "../../src/base/index.ts";

const PLACES: readonly (readonly [root: string, node: string, command: string])[] = [
  ["/usr/local/lib/node_modules/gateway", "/usr/local/bin/node", "npm install -g re2@1.24.0"],
  ["/opt/gw/lib/node_modules/gateway", "/usr/bin/node", "npm install -g --prefix /opt/gw re2@1.24.0"],
  ["/opt/my gw/lib/node_modules/gateway", "/usr/bin/node", "npm install -g --prefix '/opt/my gw' re2@1.24.0"],
  ["/opt/it's/lib/node_modules/gateway", "/usr/bin/node", "npm install -g --prefix '/opt/it'\\''s' re2@1.24.0"],
  ["/srv/app/node_modules/gateway", "/usr/bin/node", "npm install --prefix /srv/app re2@1.24.0"],
  ["/src/gateway", "/usr/bin/node", "npm install --no-save re2@1.24.0"],
];

for (const [root, node, command] of PLACES) {
  test(`the install command for a program in ${root} is: ${command}`, () => {
    assert.equal(installCommand("re2", { root, node }), command);
  });
}

test("packages that need no script are installed without scripts, and a clone is recognized", () => {
  assert.equal(installCommand("onnxruntime-node"), "npm install --no-save --ignore-scripts onnxruntime-node@1.30.0");
  assert.equal(installCommand("tokenizers"), "npm install --no-save --ignore-scripts tokenizers@0.23.2");
});

test("the table lists the optional peers of package.json with their versions", () => {
  const about = JSON.parse(readFileSync("package.json", "utf8")) as {
    readonly peerDependencies: Readonly<Record<string, string>>;
    readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional?: boolean }>>;
  };
  const table = Object.fromEntries(OPTIONAL_PACKAGES.map(({ name, version }) => [name, version]));
  assert.deepEqual(table, about.peerDependencies);
  for (const { name } of OPTIONAL_PACKAGES) assert.equal(about.peerDependenciesMeta[name]?.optional, true, name);
});
