/**
 * Errors of the admin plane configuration that stop the start. Source: specification document 1, Authentication (Admin
 * API 2 and 3), Errors; document 2, `admin`.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { logged, ready, SLOW_MS } from "../config/support/nodes.ts";
import type { Document } from "../support/config.ts";
import { type Owner, within } from "../support/wait.ts";
import { preparePlane } from "./support/plane.ts";

const POLICY = `
  permit(principal in Role::"local", action, resource);
  permit(principal in Role::"viewer", action in Action::"read", resource);
`;
const ISSUER = "http://127.0.0.1:9";

interface Stopped {
  readonly status: number | null;
  readonly stderr: string;
}

/** Runs a start that is expected to fail. */
async function stopped(owner: Owner, options: Parameters<typeof preparePlane>[1], admin?: Document): Promise<Stopped> {
  const node = await preparePlane(owner, { deployment: { providers: [] }, ...options });
  if (admin !== undefined) {
    const file = JSON.parse(await readFile(node.nodePath, "utf8")) as { readonly admin: Document };
    await node.writeNode({ ...file, admin: { ...file.admin, ...admin } });
  }
  const program = node.launch();
  const { status } = await within("the end of a start that fails", program.ended, SLOW_MS);
  return { status, stderr: program.stderr() };
}

describe("startup", { concurrency: 2 }, () => {
  test("a policy that does not compile stops the start with file, line and column", async (t) => {
    const { status, stderr } = await stopped(t, { issuer: ISSUER, policy: "permit(principal,\n  action resource);" });
    assert.equal(status, 10);
    assert.match(stderr, /admin\.cedar:2:\d+: /);
  });

  test("a node with an issuer and no policy does not start", async (t) => {
    const { status, stderr } = await stopped(t, { issuer: ISSUER });
    assert.equal(status, 10);
    assert.match(stderr, /policy_file/);
  });

  test("a listener that is not on the loopback stops the start if there is no issuer", async (t) => {
    for (const listen of ["0.0.0.0:0", ":0", "[::]:0"]) {
      const { status, stderr } = await stopped(t, {}, { listen });
      assert.ok(status === 10 || status === 12, `${listen}: ${status} ${stderr}`);
      assert.match(stderr, /admin\.listen.*loopback/);
    }
  });

  test("a binding to an issuer that is not in the file stops the start", async (t) => {
    const issuers = [{ issuer: "corp2", audience: "a" }];
    const { status, stderr } = await stopped(t, { issuer: ISSUER, policy: POLICY }, { issuers });
    assert.equal(status, 10);
    assert.match(stderr, /admin\.issuers\[0\]\.issuer: names no entry of the top-level `issuers`/);
  });

  test("a policy that names something unknown causes a warning and still applies", async (t) => {
    const policy = `${POLICY} permit(principal in Role::"viewer", action == Action::"list_kees", resource);`;
    const node = await preparePlane(t, { issuer: ISSUER, policy, deployment: { providers: [] } });
    const program = node.launch();
    await ready(program);
    assert.match(String((await logged(program, "admin policy"))["warning"]), /list_kees/);
  });
});
