/**
 * The command lines shown in dialogs, run by a shell against a real gateway: each does what the dialog would have done,
 * so that an incident's commands can go into a runbook unchanged.
 */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import type { AdminClient } from "../../../src/admin-api/index.ts";
import {
  extendDialog as extendKeyDialog,
  mintDialog,
  revokeDialog,
  rotateDialog,
} from "../../../src/console/actions/key-dialogs.ts";
import { deleteSourceDialog, putDocumentDialog, rollbackDialog } from "../../../src/console/actions/source-dialogs.ts";
import { extendDialog, liftDialog, suspendDialog } from "../../../src/console/actions/suspension-dialogs.ts";
import { commandsOfTask, quoted } from "../../../src/console/format/command-line.ts";
import type { Context } from "../../../src/console/model/context.ts";
import type { Data, Need, Readable, ReadableId, Reading } from "../../../src/console/model/data.ts";
import type { Dialog, FieldValues } from "../../../src/console/model/dialog.ts";
import { startPlane } from "../admin/support/plane.ts";

const run = promisify(execFile);
const root = resolve(import.meta.dirname, "../../..");

/** Readings from the gateway's current answers. */
async function readingsOf(client: AdminClient): Promise<Data> {
  const now = Date.now();
  const values: Partial<Readable> = {
    list_suspensions: (await client.call("list_suspensions")).items,
    list_keys: (await client.call("list_keys")).items,
    list_sources: (await client.call("list_sources")).items,
    list_models: (await client.call("list_models")).items,
    list_backends: (await client.call("list_backends")).items,
    list_cluster_members: (await client.call("list_cluster_members")).items,
    get_status: await client.call("get_status"),
    get_config: await client.call("get_config"),
  };
  return {
    get<Id extends ReadableId>({ id }: Need<Id>): Reading<Readable[Id]> | undefined {
      const value: Readable[Id] | undefined = values[id];
      return value === undefined ? undefined : { value, freshAt: now, requestedAt: now, failure: undefined };
    },
  };
}

test("the command line shown in a dialog does what the dialog does", async (t) => {
  const { node } = await startPlane(t);
  const { client, dir } = node;
  const bin = join(dir, "bin");
  await mkdir(bin);
  await symlink(join(root, "bin", "gateway"), join(bin, "gateway"));
  const socket = join(dir, "admin.sock");
  const document = (models: string): string =>
    JSON.stringify({
      providers: [{ name: "two", dialect: "compat", base_url: "http://127.0.0.1:9", models: [models] }],
    });

  /** Runs the dialog's command in a shell. */
  async function typed(dialogOf: (context: Context) => Dialog, values: FieldValues = {}): Promise<string> {
    const context: Context = {
      data: await readingsOf(client),
      now: Date.now(),
      subject: undefined,
      isReadOnly: false,
      isAscii: false,
      endpointFlags: `-socket ${quoted(socket)}`,
      tail: undefined,
      verification: undefined,
    };
    const dialog = dialogOf(context);
    const input = { ...Object.fromEntries(dialog.fields.map(({ id, initial }) => [id, initial])), ...values };
    assert.equal(dialog.blockedReason?.(input, context), undefined, dialog.title);
    const commands = dialog.commands?.(input, context) ?? commandsOfTask(dialog.task(input, context), context);
    const env = { ...process.env, PATH: `${bin}${delimiter}${process.env["PATH"]}` };
    const { stdout } = await run("/bin/sh", ["-e", "-c", commands.join("\n")], { cwd: dir, env, timeout: 30_000 });
    return stdout;
  }
  const suspension = async () => (await client.call("list_suspensions")).items[0];
  const keys = async () => (await client.call("list_keys")).items;
  const one = { kind: "provider", name: "one" } as const;
  const sources = async () => (await client.call("list_sources")).items;

  await t.test("suspend, with a reason that needs shell quoting", async () => {
    const reason = `it's "down"; $(reboot) \`x\` & \\ *`;
    await typed((context) => suspendDialog({ kind: "provider", names: ["one"] }, context), { reason });
    const found = await suspension();
    assert.deepEqual([found?.kind, found?.name, found?.reason], ["provider", "one", reason]);
    assert.notEqual(found?.until, null);
  });
  await t.test("extend", async () => {
    const before = Date.parse((await suspension())?.until ?? "");
    await typed((context) => extendDialog(one, context));
    assert.notEqual(Date.parse((await suspension())?.until ?? ""), before);
  });
  await t.test("lift", async () => {
    await typed((context) => liftDialog({ kind: "provider", names: ["one"] }, context));
    assert.equal(await suspension(), undefined);
  });
  await t.test("mint, rotate, extend and revoke a key", async () => {
    const { fields } = mintDialog({ data: await readingsOf(client) });
    assert.ok(fields.some(({ id }) => id === "name"));
    assert.match(await typed(mintDialog, { name: "ci" }), /"key":\s*"gwk_/);
    const [minted] = await keys();
    assert.equal(minted?.name, "ci");
    await typed(() => rotateDialog("ci"));
    assert.notEqual((await keys())[0]?.id, minted?.id);
    await typed(() => extendKeyDialog("ci"));
    await typed(() => revokeDialog(["ci"]));
    assert.deepEqual(await keys(), []);
  });
  await t.test("put, roll back and delete a source, each against the revision that was shown", async () => {
    await writeFile(join(dir, "two words.json"), document("first-*"));
    await typed((context) => putDocumentDialog("two", "two words.json", context));
    await client.call("put_source", { params: { name: "two" }, body: document("second-*") });
    const revisionOf = async () => (await sources()).find(({ name }) => name === "two")?.revision;
    const newest = await revisionOf();
    assert.equal(typeof newest, "number");
    await typed((context) => rollbackDialog("two", (newest ?? 2) - 1, context));
    assert.ok(((await revisionOf()) ?? 0) > (newest ?? 0));
    const stored = await client.call("get_source", { params: { name: "two" } });
    assert.equal(stored.document, document("first-*"));
    await typed((context) => deleteSourceDialog("two", context));
    assert.equal(await revisionOf(), undefined);
  });
});
