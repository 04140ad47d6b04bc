/**
 * `npm install -g` of the tarball with both maintained versions of npm: offline, without scripts, as a user who owns
 * nothing else, and below a prefix with a space in its path.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { peer } from "../../peers/index.ts";
import { atEnd, type Owner } from "../support/wait.ts";
import { installTarball, packTarball } from "./support/install.ts";

const run = promisify(execFile);
const owner: Owner = { after };
const tarball = await packTarball(owner);

/** The user `nobody`, under which root can start processes. */
const NOBODY = 65_534;
const user = process.getuid?.() === 0 ? NOBODY : undefined;

const NODE_FILE = `listen: 127.0.0.1:0
metrics_listen: 127.0.0.1:0
deployment: deployment.yaml
cluster: { node_id: a, secret: only-for-this-test-and-nothing-else, bootstrap: true, data_dir: data }
admin: { local_socket: admin.sock }
`;

/** Copies an npm to a folder that every user can read, which the peer cache is not. */
async function readable(t: TestContext, script: string): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "gateway-npm-"));
  atEnd(t, () => rm(dir, { recursive: true, force: true }));
  await run("chmod", ["755", dir]);
  await cp(dirname(dirname(script)), join(dir, "npm"), { recursive: true });
  return join(dir, "npm/bin/npm-cli.js");
}

for (const name of ["npm-10", "npm-11"] as const) {
  const npm = await peer(name);
  test(`${name} installs the package offline, without scripts, ${user === undefined ? "as this user" : "as another user"}`, {
    skip: npm.missing,
  }, async (t) => {
    const script = await readable(t, npm.path);
    const options = { npm: script, ...(user !== undefined && { user }) };
    const { prefix, program, installMs } = await installTarball(t, tarball.path, options);
    t.diagnostic(`installed in ${Math.round(installMs)} ms`);
    const as = {
      cwd: prefix,
      env: { ...process.env, HOME: prefix },
      ...(user !== undefined && { uid: user, gid: user }),
    };
    const { stdout } = await run(program, ["version", "-json"], as);
    assert.equal(JSON.parse(stdout).name, "gateway");
    const files = join(dirname(prefix), "files");
    await mkdir(files);
    await run("chmod", ["777", files]);
    await writeFile(join(files, "node.yaml"), NODE_FILE);
    await writeFile(join(files, "deployment.yaml"), "{}\n");
    // This loads the native libraries of the admin socket.
    const check = await run(program, ["check", "-config", "node.yaml"], { ...as, cwd: files });
    assert.match(check.stdout, /^ok {4}library koffi: /m);
    await run(process.execPath, [script, "uninstall", "-g", "--prefix", prefix, "gateway"], as);
    await assert.rejects(run(program, ["version"], as), /ENOENT/);
  });
}
