/** The audit records in the stderr of a gateway, and `gateway audit verify` over them. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AuditRecord } from "../../../../src/admin-api/index.ts";
import type { TestNode } from "../../config/support/nodes.ts";
import { type End, runProgram } from "../../support/gateway.ts";
import type { Owner } from "../../support/wait.ts";

export interface SeenRecord extends AuditRecord {
  readonly data: Readonly<Record<string, unknown>>;
}

/** Returns the records in all output of the node's processes, including logs. */
export function recordsIn(output: string): readonly SeenRecord[] {
  return output.split("\n").flatMap((line) => (line.startsWith('{"audit":1,') ? [JSON.parse(line) as SeenRecord] : []));
}

interface Verdict extends End {
  readonly text: string;
}

/** `heads` is the text of the heads file; `undefined` for none. */
export async function verify(owner: Owner, dir: string, output: string, heads?: string): Promise<Verdict> {
  const file = join(dir, "gateway.stderr.log");
  await writeFile(file, output);
  const args = ["audit", "verify"];
  if (heads !== undefined) {
    await writeFile(join(dir, "heads.json"), heads);
    args.push("-heads", join(dir, "heads.json"));
  }
  const program = runProgram(owner, { args: [...args, file] });
  const end = await program.ended;
  return { ...end, text: program.stdout() + program.stderr() };
}

/** Returns the heads that the cluster has witnessed, by the operator's command `gateway admin audit_heads`. */
export async function witnessedHeads(owner: Owner, node: TestNode): Promise<string> {
  const program = runProgram(owner, { args: ["admin", "-socket", join(node.dir, "admin.sock"), "audit_heads"] });
  const { status } = await program.ended;
  assert.equal(status, 0, program.stderr());
  const { items } = JSON.parse(program.stdout()) as { readonly items: unknown };
  return JSON.stringify(items);
}
