/** Requests and waits shared by membership tests. */
import assert from "node:assert/strict";
import type { TestNode } from "./cluster.ts";
import { until } from "./until.ts";

export const THREE = ["n1", "n2", "n3"];
/** Limit for one write. */
export const LIMIT_MS = 10_000;

export async function mustWrite({ nodeClient }: TestNode, register: string, value: number): Promise<void> {
  const outcome = await nodeClient.write(register, value, LIMIT_MS);
  assert.equal(outcome.kind, "done", JSON.stringify(outcome));
}

export async function membersOf({ nodeClient }: TestNode): Promise<readonly string[]> {
  return (await nodeClient.status()).members.map(({ id }) => id).sort();
}

export async function isMember(node: TestNode, of: TestNode): Promise<void> {
  await until(`${node.id} votes, as ${of.id} sees it`, async () =>
    (await of.nodeClient.status()).members.some(({ id, voter }) => id === node.id && voter),
  );
}

export async function areMembers(node: TestNode, ids: readonly string[]): Promise<void> {
  const wanted = [...ids].sort().join();
  await until(`${node.id} sees the members ${wanted}`, async () => (await membersOf(node)).join() === wanted);
}
